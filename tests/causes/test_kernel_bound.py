"""kernel-bound: a loop of very many tiny operations, its fixes, and what only looks like it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sickbay.facts import Loop, Run
from sickbay.record.reader import Record
from sickbay.testing import CauseTestCase, assert_suspects, falling, make_record, place_in

SOURCE = """\
for x, y in loader:
    outputs = []
    for i in range(len(x)):
        outputs.append(model(x[i : i + 1]))
    pred = torch.cat(outputs)
    loss = criterion(pred, y)
"""


def looped(
    source: str = SOURCE,
    *,
    step: float = 0.02,
    backward: float = 0.008,
    steps: int = 200,
    run_seconds: float = 10.0,
    loop: str = "for i",
    **known: Any,
) -> Record:
    usual: dict[str, Any] = {
        "place": place_in(source, "model(" if "model(" in source else loop), "loop": place_in(source, loop), "rounds": 64, "operations": 384, "total": 400,
        "attached": 0.98, "seconds": 0.004, "each_seconds": 7e-6, "smallest_seconds": 1.5e-6, "numbers": 32, "kinds": ("linear", "relu"), "looks": 10, "found": 10,
    }  # fmt: skip
    series = {"loss/train": falling(2, 0.1, steps), "time/step": np.full(steps, step), "time/backward": np.full(steps, backward)}
    run = Run(script="train.py", steps=steps, backwards=steps, forwards=steps, exit=0, finished=True, training_seconds=run_seconds)
    return make_record(series=series, loops=[Loop(**usual | known)], sources={"train.py": source}, run=run)


class TestKernelBound(CauseTestCase):
    cause = "kernel-bound"

    def sick(self) -> Iterable[Record]:
        yield looped()
        yield looped(attached=0.0, seconds=0.015)
        yield looped(truncated=True, total=20_000, operations=19_900, seconds=0.2, step=0.8, backward=0.3)

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "large pieces", looped(each_seconds=4e-4, seconds=0.016)
        yield "the rest of the step takes longer", looped(step=0.2)
        yield "hardly any time of its own", looped(attached=0.1, seconds=0.001)
        yield "few of the operations", looped(operations=120)
        yield "an evaluation now and then", looped(found=2)
        yield "hardly any steps", looped(steps=10)
        yield "no time lost", looped(run_seconds=1.2)


def test_the_numbers_and_the_line() -> None:
    suspicion = assert_suspects(looped(), "kernel-bound", "proven")
    assert suspicion.place is not None and suspicion.place.line == 4
    text = suspicion.evidence[0].text
    assert "400 operations per step, 96 % of them" in text and "64 rounds of the loop at train.py:3" in text and "32 numbers" in text


def test_the_loop_becomes_one_call() -> None:
    fix = assert_suspects(looped(), "kernel-bound").fix
    assert fix.safety == "consent"
    assert "-        outputs.append(model(x[i : i + 1]))" in fix.diff and "-    outputs = []" in fix.diff and "+    pred = model(x)" in fix.diff


def test_a_comprehension_becomes_one_call() -> None:
    source = "for x, y in loader:\n    pred = torch.stack([model(row.unsqueeze(0)) for row in x])\n"
    assert "+    pred = model(x)" in assert_suspects(looped(source, loop="for row"), "kernel-bound").fix.diff


def test_a_sum_becomes_an_expression() -> None:
    source = "for x, y in loader:\n    loss = 0\n    for i in range(len(x)):\n        loss = loss + criterion(model(x[i][None]), y[i : i + 1])\n"
    fix = assert_suspects(looped(source), "kernel-bound").fix
    assert fix.diff == "loss = criterion(model(x), y)" and fix.safety == "advice"


def test_pairs_become_a_broadcast() -> None:
    source = "for i in range(n):\n    for j in range(n):\n        table[i, j] = (a[i] - b[j]).pow(2).sum()\n"
    assert "a[:, None] - b[None, :]" in assert_suspects(looped(source, loop="for j"), "kernel-bound").fix.diff


def test_other_loops_get_words() -> None:
    source = "for x, y in loader:\n    for i in range(len(x)):\n        total += (x[i] - y[i]).abs().max()\n"
    assert "vmap" in assert_suspects(looped(source), "kernel-bound").fix.diff
