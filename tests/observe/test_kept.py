"""Graphs that outlive their step, and graphs that grow."""

from __future__ import annotations

import gc
from dataclasses import replace

import pytest

from observe.conftest import WatchScript
from sickbay.testing import assert_silent, assert_suspects

LOOP = """
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
total, history, best = 0.0, [], None
def train():
    loss = model(torch.randn(6, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss
for step in range(64):
    loss = train()
    KEEP
"""
LEAKS = {
    "summed": "total = total + loss",
    "summed in place": "total += loss",
    "listed": "history.append(loss)",
    "in a dict": "history.append({'loss': loss})",
    "a part of it": "history.append(loss * 0.5)",
}
FINE = {
    "nothing": "pass",
    "number": "total += loss.item()",
    "detached": "total += loss.detach()",
    "list of numbers": "history.append(float(loss.detach()))",
    "best": "best = loss if best is None or loss < best else best",
    "newest few": "history = [*history[-2:], loss]",
}


@pytest.mark.parametrize("name", LEAKS)
@pytest.mark.parametrize("detail", [1, 1000])
def test_kept(name: str, detail: int, script: WatchScript) -> None:
    (k,) = script(LOOP.replace("KEEP", LEAKS[name]), detail_steps=detail).facts.kept
    assert k.marked == 64 and k.alive >= 62 and k.oldest >= 62


@pytest.mark.parametrize("name", FINE)
def test_let_go(name: str, script: WatchScript) -> None:
    assert all(k.alive <= 2 for k in script(LOOP.replace("KEEP", FINE[name])).facts.kept)


STREAM = """
cell, head = nn.GRUCell(3, 5), nn.Linear(5, 1)
optimizer = torch.optim.SGD(head.parameters(), lr=0.01)
state = torch.zeros(2, 5)
for step in range(20):
    state = cell(torch.randn(2, 3), STATE)
    loss = head(state).pow(2).mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    head.zero_grad()
    optimizer.step()
"""


def test_a_graph_that_grows(script: WatchScript) -> None:
    (k,) = script(STREAM.replace("STATE", "state")).facts.kept
    assert (k.retain, k.backwards) == (20, 20)
    assert k.graph_last > 10 * k.graph_first and k.graph_growths == k.graph_counts - 1


def test_a_graph_that_is_cut(script: WatchScript) -> None:
    (k,) = script(STREAM.replace("STATE", "state.detach()")).facts.kept
    assert k.graph_last == k.graph_first and k.graph_growths == 0


def test_marks_do_not_keep_graphs_alive(script: WatchScript) -> None:
    watched = """
    import weakref
    class Note: pass
    note = Note()
    loss.grad_fn.metadata["of the user"] = note
    history.append(weakref.ref(note))
    del note, loss
"""
    run = script(LOOP.replace("    KEEP\n", watched[1:]))
    gc.collect()
    assert len(run.names["history"]) == 64
    assert not [ref for ref in run.names["history"] if ref() is not None]


SCORED = """
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
hardest = []
for step in range(64):
    x, y = torch.randn(6, 4), torch.randint(0, 3, (6,))
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    losses = F.cross_entropy(model(x), y, reduction="none")
    KEEP
"""


def test_a_loss_that_is_only_looked_at_and_kept(script: WatchScript) -> None:
    run = script(SCORED.replace("KEEP", "hardest.append((losses.max(), step))"))
    (k,) = run.facts.kept
    assert k.alive >= 62 and k.called_at is not None and k.called_at.text is not None and k.called_at.text.startswith("losses =")
    assert assert_suspects(run.record, "retained-graph", "proven").place == replace(
        k.called_at, line=(k.called_at.line or 0) + 1, text="hardest.append((losses.max(), step))"
    )


@pytest.mark.parametrize("keep", ["hardest.append((losses.max().item(), step))", "hardest = [*hardest[-2:], losses.max()]", "del losses"])
def test_a_loss_that_is_only_looked_at(script: WatchScript, keep: str) -> None:
    assert all(k.alive <= 3 for k in script(SCORED.replace("KEEP", keep)).facts.kept)


OUTPUT = """
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
history = []
for step in range(64):
    x, y = torch.randn(6, 4), torch.randint(0, 3, (6,))
    optimizer.zero_grad()
    logits = model(x)
    F.cross_entropy(logits, y).backward()
    optimizer.step()
    KEEP
"""


def test_what_is_made_of_predictions_and_kept(script: WatchScript) -> None:
    run = script(OUTPUT.replace("KEEP", "history.append(logits.softmax(1).max())"))
    (k,) = run.facts.kept
    assert k.output and k.alive >= 62 and run.at(k.called_at, "logits = model(x)")
    assert_silent(run.record, "retained-graph")  # most of what a graph holds is gone after backward: a sickness only where memory grows


@pytest.mark.parametrize("keep", ["history.append(logits.softmax(1).max().item())", "history.append(logits.detach())", "history = [logits]"])
def test_predictions_that_are_let_go(script: WatchScript, keep: str) -> None:
    assert not script(OUTPUT.replace("KEEP", keep)).facts.kept
