from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from causes.scripts import added
from sickbay.causes.architecture.detached_graph import NO_GRAPH
from sickbay.facts import Crash, Cut, Loss, Op, Run
from sickbay.nouns import Place
from sickbay.record.reader import Record, with_facts
from sickbay.testing import CauseTestCase, assert_suspects, make_record, model_facts, place_in


def cut_off(op: str = "detach", place: Place | None = None, cut: dict[str, Any] | None = None, source: str = "", **encoder: Any) -> Record:
    """An encoder that the loss does not reach behind a head that it does."""
    facts = model_facts("encoder", "head")
    first = replace(facts["parameters"][0], **{"reached": False, "moved": False} | encoder)
    facts["parameters"] = (first, facts["parameters"][1])
    a_cut = Cut(op=op, place=place, parameters=("encoder.weight",), **(cut or {}))
    loss = Loss(index=0, backwards=100, cuts=(a_cut,), operations=(Op(name="linear"),))
    return make_record(steps=100, losses=[loss], sources={"train.py": source}, **facts)


def drawn(source: str = "", stepped: tuple[int, ...] = (0,), **encoder: Any) -> Record:
    """What an encoder gives is drawn without a gradient; the loss reaches it another way."""
    facts = model_facts("encoder", "decoder")
    facts["parameters"] = (replace(facts["parameters"][0], **encoder), facts["parameters"][1])
    draw = Cut(op="normal", place=place_in(source, source.strip()) if source else Place("train.py", 7), parameters=("encoder.weight",))
    loss = Loss(index=0, backwards=100, optimizers=stepped, drawn=(draw,), operations=(Op(name="linear"),))
    return make_record(steps=100, losses=[loss], sources={"train.py": source}, **facts)


def crashed(message: str) -> Record:
    crash = Crash(kind="RuntimeError", message=message, place=Place("train.py", 3))
    return make_record(run=Run(steps=0, backwards=0, exit=1), crash=crash)


def called_but_unused() -> Record:
    facts = model_facts("encoder", "head")
    facts["parameters"] = (replace(facts["parameters"][0], reached=False, moved=False), facts["parameters"][1])
    return make_record(steps=100, losses=[Loss(index=0, backwards=100, operations=(Op(name="linear"),))], **facts)


class TestDetachedGraph(CauseTestCase):
    cause = "detached-graph"

    def sick(self) -> Iterable[Record]:
        yield cut_off()
        yield cut_off("no_grad")
        yield make_record(steps=100, losses=[Loss(index=0, backwards=100, leaf=True)])
        yield drawn()
        yield crashed("element 0 of tensors does not require grad and does not have a grad_fn")

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "stop-gradient, but another loss reaches it", cut_off(reached=True, moved=True)
        yield "no optimizer holds it (target network)", cut_off(optimizer=None)
        yield "frozen", cut_off(trainable=False)
        yield "never called: unused, not cut", cut_off(called=False)
        yield "a side branch whose output nobody uses", called_but_unused()
        yield "a drawn action: this loss trains the critic alone", drawn(optimizer=1)
        yield "a draw from frozen layers", drawn(trainable=False)
        yield "another crash", crashed("CUDA out of memory")
        yield "nothing was followed yet", make_record(run=Run(steps=0, backwards=1), **model_facts("a", reached=False))


@pytest.mark.parametrize(
    ("op", "line", "fixed"),
    [
        ("detach", "h = encoder(x).detach()", "h = encoder(x)"),
        ("data", "h = encoder(x).data", "h = encoder(x)"),
        ("tensor", "loss = torch.tensor(total, requires_grad=True)", "loss = total"),
        ("item", "total = torch.tensor(sum(v.item() for v in parts), requires_grad=True)", "total = sum(v for v in parts)"),
        ("item", "total = loss.item() + penalty", "total = loss + penalty"),
        ("tolist", "kept = torch.tensor([m[0].tolist() for m in memory])", "kept = torch.stack([m[0] for m in memory])"),
        ("item", "kept = torch.tensor([m.item() for m in memory])", "kept = torch.stack([m for m in memory])"),
        ("index_add", "sums.data.index_add_(0, where, messages)", "sums.index_add_(0, where, messages)"),
    ],
)
def test_the_fix_removes_the_cut(op: str, line: str, fixed: str) -> None:
    record = cut_off(op, place_in(line + "\n", line), source=line + "\n")
    assert added(assert_suspects(record, "detached-graph").fix.diff) == [fixed]


def test_the_cut_on_the_way_of_its_own_loss_is_the_place() -> None:
    """A discriminator's loss is cut off from the generator on purpose; that the generator's own is, is the mistake."""
    record = cut_off()
    of_other = Loss(index=0, backwards=100, optimizers=(1,), cuts=(Cut(op="detach", place=Place("train.py", 46), parameters=("encoder.weight",)),))
    own = Loss(index=1, backwards=100, optimizers=(0,), cuts=(Cut(op="detach", place=Place("train.py", 53), parameters=("encoder.weight",)),))
    found = assert_suspects(with_facts(record, losses=(of_other, own)), "detached-graph").place
    assert found is not None and found.line == 53


@pytest.mark.parametrize("cuts", [(), (Cut(op="item", place=Place("train.py", 2), parameters=("encoder.weight",)),)])
def test_a_loss_without_a_graph_is_placed_where_it_lost_it(cuts: tuple[Cut, ...]) -> None:
    source = "out = model(x)\nloss = torch.tensor(criterion(out, y).item(), requires_grad=True)\nloss.backward()\n"
    facts = model_facts("encoder")
    facts["parameters"] = tuple(replace(p, reached=False, moved=False) for p in facts["parameters"])
    loss = Loss(index=0, backwards=100, leaf=True, variable="loss", cuts=cuts, backward_at=place_in(source, "backward"))
    found = assert_suspects(make_record(steps=100, losses=[loss], sources={"train.py": source}, **facts), "detached-graph")
    assert found.place is not None and found.place.line == 2
    assert added(found.fix.diff) == ["loss = criterion(out, y)"]


def test_a_crash_of_backward_is_placed_where_the_graph_was_lost() -> None:
    source = "out = model(x).detach()\nloss = criterion(out, y)\nloss.backward()\n"
    crash = Crash(kind="RuntimeError", message=f"element 0 of tensors {NO_GRAPH}", place=place_in(source, "backward"))
    cut = Cut(op="detach", place=place_in(source, "detach"), parameters=("encoder.weight",))
    loss = Loss(index=0, backwards=1, variable="loss", cuts=(cut,), backward_at=crash.place)
    record = make_record(run=Run(steps=0, backwards=1, exit=1), crash=crash, losses=[loss], sources={"train.py": source}, **model_facts("encoder"))
    found = assert_suspects(record, "detached-graph")
    assert found.place is not None and found.place.line == 1
    assert added(found.fix.diff) == ["out = model(x)"]
