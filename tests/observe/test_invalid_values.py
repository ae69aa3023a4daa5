"""Where NaN and infinity come up, where they are hidden, which formulas are open to them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from observe.conftest import WatchScript
from observe.watched import exact, watching
from sickbay.observe.endings import crash_fact
from sickbay.record.reader import read_record
from sickbay.settings import Settings

HEADER = """
torch.manual_seed(1)
x, y = torch.randn(16, 6), torch.randint(0, 3, (16,))
t = (y > 1).float()
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
"""
LOOP = """
for step in range(STEPS):
    optimizer.zero_grad()
    z = model(x)
    BEFORE
    loss = LOSS
    AFTER
    loss.backward()
    THEN
    optimizer.step()
"""


def program(loss: str, before: str = "pass", after: str = "pass", then: str = "pass", steps: int = 5) -> str:
    loop = LOOP.replace("LOSS", loss).replace("BEFORE", before).replace("AFTER", after).replace("THEN", then).replace("STEPS", str(steps))
    return HEADER + loop


@pytest.mark.parametrize(
    ("loss", "op", "kind"),
    [
        ("-torch.log(F.softmax(z * 1e4, 1))[range(16), y].mean()", "log", "-inf"),
        ("torch.sqrt(z).mean()", "sqrt", "nan"),
        ("(torch.exp(z * 1e4) / torch.exp(z * 1e4).sum(1, keepdim=True)).mean()", "exp", "inf"),
        ("z.mean() / (t * 0).sum()", "div", None),
        ("F.softmax(z.masked_fill(torch.ones(16, 3).bool(), float('-inf')), 1).mean()", "softmax", "nan"),
        ("(z * float('inf')).mean()", "mul", None),
        ("z[:0].mean()", "mean", "nan"),
    ],
)
def test_first_operation_that_is_not_finite(loss: str, op: str, kind: str | None, script: WatchScript) -> None:
    run = script(program(loss))
    (first,) = run.loss.invalid
    assert (first.origin, first.op, first.step, first.traced, first.parameters_finite) == ("operation", op, 0, True, True)
    assert kind in (None, first.kind)
    assert run.at(first.place, "loss = ")


def test_weights_and_data_are_origins_too(script: WatchScript) -> None:
    (first,) = script(program("F.cross_entropy(z, y)", before="model[0].weight.data[0, 0] = float('nan'); z = model(x)")).loss.invalid
    assert (first.origin, first.name) == ("parameter", "0.weight")
    (first,) = script(
        program("F.cross_entropy(model(bad), y)", before="bad = x.clone(); bad[0, 0] = float('nan')").replace(
            "bad = x.clone()", "bad = torch.tensor(x.tolist())"
        )
    ).loss.invalid
    assert first.origin == "data"


def test_a_healthy_loss_has_none(script: WatchScript) -> None:
    run = script(program("F.cross_entropy(z, y) + F.softmax(z.masked_fill(z > 0.5, float('-inf')), 1)[:, 0].mean()"))
    assert run.loss.invalid == () and run.loss.masked == ()


@pytest.mark.parametrize("late", [40])
def test_on_steps_that_are_not_traced_the_graph_tells(late: int, script: WatchScript) -> None:
    text = program("F.cross_entropy(z, y) + torch.log(a).mean() * 0.01", before=f"a = z.std(0) * (0 if step == {late} else 1)", steps=45)
    run = script(text, detail_steps=3)
    (first,) = run.loss.invalid
    assert (first.origin, first.op, first.step, first.traced, first.parameters_finite) == ("operation", "log", late, False, True)
    assert run.at(first.place, "loss = ") and first.lowest == 0


def test_an_infinite_slope_behind_a_finite_loss(script: WatchScript) -> None:
    run = script(program("F.cross_entropy(z, y) + torch.sqrt(((z - z.detach()) ** 2).sum(1)).mean()"))
    (first,) = run.loss.invalid
    assert (first.op, first.backward, first.step) == ("sqrt", True, 0)
    assert run.at(first.place, "loss = ")


@pytest.mark.parametrize(
    ("loss", "guarded", "complement", "raw", "alone"),
    [
        ("torch.log(z.softmax(1)).mean()", False, False, False, True),
        ("torch.log(z.softmax(1) + 1e-9).mean()", True, False, False, True),
        ("torch.log(1 - z.sigmoid()).mean()", False, True, False, True),
        ("torch.log(z.clamp_min(1e-6)).mean()", True, False, True, True),
        ("(z - torch.log(z.clamp_min(1e-6))).mean()", True, False, True, False),
    ],
)
def test_open_formulas(loss: str, guarded: bool, complement: bool, raw: bool, alone: bool, script: WatchScript) -> None:
    found = script(program(loss)).loss.fragile[0]
    assert found.op == "log" and found.reads == 5
    assert (found.guarded, found.complement, found.raw, found.alone) == (guarded, complement, raw, alone)


def test_formulas_of_libraries_are_not_the_users(script: WatchScript) -> None:
    run = script(program("-torch.distributions.Normal(z, z.exp()).log_prob(z.detach()).mean()"))
    assert [f.op for f in run.loss.fragile] == ["exp"]


NAN = "p = torch.sigmoid(1e3 * z[:, 0]); l = -(t * torch.log(p) + (1 - t) * torch.log(1 - p))"


@pytest.mark.parametrize(
    "loss",
    [
        "torch.nan_to_num(l, posinf=0.0).mean()",
        "torch.where(torch.isfinite(l), l, torch.zeros(16)).mean()",
        "l[torch.isfinite(l)].mean()",
        "l.masked_fill(l.isinf() | l.isnan(), 0.0).mean()",
    ],
)
def test_values_that_are_hidden(loss: str, script: WatchScript) -> None:
    run = script(program(loss, before=NAN, steps=1))
    found = [m for m in run.loss.masked if m.times]
    assert found and (found[0].way, found[0].times, found[0].origin, found[0].origin_op) == ("replaced", 1, "operation", "log")
    assert run.at(found[0].place, "loss = ")


def test_gaps_in_the_data_are_not_hidden_values(script: WatchScript) -> None:
    run = script(program("F.cross_entropy(model(torch.nan_to_num(gaps)), y)", before="gaps = x.clone(); gaps[0] = float('nan')"))
    assert run.loss.masked == ()
    run = script(program("((z[:, 0] - q)[~q.isnan()] ** 2).mean()", before="q = t.clone(); q[0] = float('nan')"))
    assert run.loss.masked == ()


@pytest.mark.parametrize(
    "before",
    [
        "paths = torch.cat([z[:, :1], torch.full((16, 2), float('-inf'))], 1)",
        "paths = z.masked_fill(z < z.max(1, keepdim=True).values, -torch.inf)",
        "paths = torch.where(z > 0, z, torch.inf)",
        "paths = z + torch.tensor([0.0, 0.0, float('-inf')])",
    ],
)
def test_infinities_that_the_script_writes_are_not_hidden(before: str, script: WatchScript) -> None:
    """The impossible paths of a recursion in log space, forbidden transitions, a search for the least."""
    run = script(program("F.cross_entropy(z, y) + torch.where(torch.isinf(paths), torch.zeros(()), paths).mean()", before=before))
    assert not [m for m in run.loss.masked if m.times]


@pytest.mark.parametrize("check", ["torch.isnan(loss)", "loss != loss", "not __import__('math').isfinite(loss.item())"])
def test_steps_left_out(check: str, script: WatchScript) -> None:
    run = script(program("F.cross_entropy(z / (0 if step % 4 == 3 else 1), y)", after=f"if {check}: continue", steps=24))
    (found,) = run.facts.masked
    assert (found.way, found.op, found.times, found.looks, found.origin) == ("skipped", "loss", 6, 24, "operation")
    assert run.at(found.place, "loss = ")


def test_a_loss_by_hand_that_is_not_used(script: WatchScript) -> None:
    bad = "-z.log_softmax(1)[range(16), y].mean() / (0 if step % 3 == 0 else 1)"
    masked = script(program(bad, after="if not loss.isfinite(): continue", steps=24)).loss.masked
    (found,) = [m for m in masked if m.times]
    assert (found.way, found.op, found.origin, found.origin_op) == ("skipped", "loss", "operation", "div") and found.times >= 6
    by_hand = """
w = torch.randn(4, 1, requires_grad=True)
for step in range(20):
    loss = (torch.randn(8, 4) @ w / (0 if step > 9 else 1)).abs().mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad = None
"""
    assert script(by_hand).loss.masked == ()


def test_steps_left_out_of_a_loss_by_hand(script: WatchScript) -> None:
    run = script(program("-z.log_softmax(1)[range(16), y].mean() / (0 if step % 4 == 3 else 1)", after="if not loss.isfinite(): continue", steps=24))
    (found,) = run.facts.masked
    assert (found.way, found.op, found.times) == ("skipped", "forward", 5)


@pytest.mark.parametrize(
    "text",
    [
        program("F.cross_entropy(z, y)", after="if torch.isnan(loss): continue"),
        program("F.cross_entropy(z, y)").replace("    z = model(x)", "    z = model(x)\n    z = z + model(x)"),
        program("F.cross_entropy(z, y)").replace("    z = model(x)", "    for _ in range(3):\n        z = model(x)"),
        program("F.cross_entropy(z, y)", then="F.cross_entropy(model(x), y)"),
    ],
)
def test_nothing_is_left_out(text: str, script: WatchScript) -> None:
    assert script(text.replace("range(5)", "range(12)")).facts.masked == ()


def test_gradients_that_are_mended_or_dropped(script: WatchScript) -> None:
    bad = "F.cross_entropy(z, y) + (torch.sqrt((z - z.detach()) ** 2).mean() if step % 2 else 0)"
    run = script(program(bad, then="for p in model.parameters(): p.grad = torch.nan_to_num(p.grad)"))
    assert [(m.way, m.op, m.times > 1) for m in run.facts.masked] == [("gradient", "nan_to_num", True)]
    assert run.at(run.facts.masked[0].place, "nan_to_num")
    run = script(program(bad, then="norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    if not norm.isfinite(): continue", steps=12))
    (found,) = run.facts.masked
    assert (found.way, found.times) == ("dropped", 5)


def test_a_loss_function_that_refuses_its_input(tmp_path: Path) -> None:
    path = tmp_path / "refused.sickbay"
    with watching(path, exact()) as session:
        model = nn.Linear(4, 1)
        try:
            nn.BCELoss()(model(10 * torch.randn(8, 4)).squeeze(1), torch.ones(8)).backward()
        except RuntimeError as e:
            session.crash = crash_fact(type(e), e, e.__traceback__, 0)
    refused = read_record(path).facts.refused
    assert refused is not None and refused.raw and refused.fed_by[0].name == "linear"


@pytest.mark.parametrize("late", [0, 20])
def test_a_loss_that_stops_the_script(late: int, script: WatchScript) -> None:
    text = program(f"F.nll_loss(torch.log(F.softmax(z * (1e4 if step == {late} else 1), 1)), y)", after="if loss.isinf(): break", steps=30)
    run = script(text, detail_steps=3)
    assert (run.facts.unused_loss.op, run.facts.unused_loss.step) == ("log", late)
    assert run.at(run.facts.unused_loss.place, "loss = ")


def test_looking_changes_nothing_even_under_checkpointing(tmp_path: Path) -> None:
    """Saved tensors with hooks are left alone: unpacking those of a checkpoint twice would raise."""

    def train() -> list[bytes]:
        torch.manual_seed(3)
        model = nn.Linear(6, 4)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        seen = []
        for step in range(40):
            x, y = torch.randn(16, 6), torch.randint(0, 4, (16,))
            optimizer.zero_grad()
            scale = 1e4 if step == 30 else 1.0
            squashed = checkpoint(lambda z: torch.sqrt(F.softmax(z, 1)), model(x) * scale, use_reentrant=False)
            loss = F.nll_loss(torch.log(squashed), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            for p in model.parameters():
                p.grad = torch.nan_to_num(p.grad)
            optimizer.step()
            seen += [loss.detach().numpy().tobytes(), model.weight.detach().numpy().tobytes()]
        return seen

    plain = train()
    for number, settings in enumerate((exact(), Settings())):
        with watching(tmp_path / f"{number}.sickbay", settings) as session:
            assert train() == plain
            assert not [why for why in session.limits.values() if any(o in why for o in ("graph", "forensics", "ranges", "skips"))]
