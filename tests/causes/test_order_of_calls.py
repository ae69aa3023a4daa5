"""missing-backward and zero-grad-before-step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from causes.scripts import LOOP, added, at, loop_facts, removed
from sickbay.facts import CallPattern, Optimizer, Run, Timeline
from sickbay.record.reader import Record
from sickbay.testing import CauseTestCase, assert_suspects, make_record, model_facts

WRONG_ORDER = LOOP.replace("        optimizer.step()", "        optimizer.zero_grad()\n        optimizer.step()")


def without_backward(run: Run | None = None, source: str = LOOP, **optimizer: Any) -> Record:
    facts = loop_facts(source, **{"steps": 60, "empty_steps": 60} | optimizer)
    return make_record(
        run=run or Run(steps=60, backwards=0, forwards=60, exit=0, finished=True), optimizers=facts["optimizers"], sources=facts["sources"]
    )


class TestMissingBackward(CauseTestCase):
    cause = "missing-backward"

    def sick(self) -> Iterable[Record]:
        yield without_backward()

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "gradients written by hand", without_backward(empty_steps=0)
        yield "there is a backward", without_backward(run=Run(steps=60, backwards=60))


def cleared(*calls: str, moved: bool = False, optimizers: int = 1, empty: int = 100) -> Record:
    facts = loop_facts(WRONG_ORDER, empty_steps=empty, zeroed_at=at("zero_grad", WRONG_ORDER), parameters=("a.weight",))
    facts["optimizers"] += [Optimizer(index=i, steps=100) for i in range(1, optimizers)]
    timeline = Timeline(patterns=(CallPattern(calls=calls, count=100),))
    return make_record(steps=100, timeline=timeline, **facts, **model_facts("a", moved=moved))


class TestZeroGradBeforeStep(CauseTestCase):
    cause = "zero-grad-before-step"

    def sick(self) -> Iterable[Record]:
        yield cleared("forward", "backward", "zero_grad", "step")
        yield cleared("forward", "backward", "zero_grad", "step", empty=0)  # zeros, not None
        yield cleared("zero_grad", "step", optimizers=2)  # between the steps of two optimizers

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "the right order", cleared("zero_grad", "forward", "backward", "step", empty=0, moved=True)
        yield "another optimizer's gradients", cleared("backward", "zero_grad", "step", optimizers=2, empty=0, moved=True)
        yield "after the step", cleared("forward", "backward", "step", "zero_grad", empty=0, moved=True)


def test_backward_goes_before_the_step() -> None:
    assert added(assert_suspects(without_backward(), "missing-backward").fix.diff) == ["        loss.backward()"]


def test_a_backward_that_waits_for_a_condition() -> None:
    source = LOOP.replace("        loss.backward()\n", "        if amp:\n            scaler.scale(loss).backward()\n")
    suspicion = assert_suspects(without_backward(source=source), "missing-backward")
    assert suspicion.place == at("if amp:", source)
    assert added(suspicion.fix.diff) == ["        else:", "            loss.backward()"]


def test_a_closure_that_only_gives_the_loss_back() -> None:
    source = LOOP.replace(
        "        loss.backward()\n        optimizer.step()", "        def closure():\n            return loss_of(x)\n        optimizer.step(closure)"
    )
    facts = {"stepped_at": at("optimizer.step(closure)", source), "sources": {"train.py": source}}
    optimizer = Optimizer(index=0, kind="SGD", steps=60, empty_steps=60, stepped_at=facts["stepped_at"])
    record = make_record(run=Run(steps=60, forwards=60, exit=0, finished=True), optimizers=[optimizer], sources=facts["sources"])
    suspicion = assert_suspects(record, "missing-backward")
    assert suspicion.place == at("return loss_of(x)", source)
    assert added(suspicion.fix.diff) == ["            loss = loss_of(x)", "            loss.backward()", "            return loss"]


def test_zero_grad_moves_before_backward() -> None:
    diff = assert_suspects(cleared("forward", "backward", "zero_grad", "step"), "zero-grad-before-step").fix.diff
    assert added(diff) == removed(diff) == ["        optimizer.zero_grad()"]
    assert diff.index("+        optimizer.zero_grad()") < diff.index("loss.backward()") < diff.index("-        optimizer.zero_grad()")


@pytest.mark.parametrize(("head", "line"), [("def clear(ps):\n    for p in ps:\n        p.grad = None\n", "clear(params)"), ("", "w.grad.zero_()")])
def test_gradients_that_are_cleared_by_hand(head: str, line: str) -> None:
    source = head + LOOP.replace("        optimizer.step()", f"        {line}\n        optimizer.step()")
    facts = loop_facts(source, empty_steps=100, emptied_by_hand=8, parameters=("a.weight",))
    suspicion = assert_suspects(make_record(steps=100, **facts, **model_facts("a", moved=False)), "zero-grad-before-step")
    assert suspicion.place is not None and suspicion.place.text == line and suspicion.place.guess
    assert added(suspicion.fix.diff) == [f"        {line}"]
