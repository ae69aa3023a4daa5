"""nonfinite-input and nonfinite-target."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from causes.scripts import added
from sickbay.facts import NonfiniteBatch
from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.testing import CauseTestCase, assert_suspects, falling, make_record

SOURCE = "import torch\ntarget = torch.log(units)\nloss = huber(model(x), target)\n"


def batch(role: str, step: int = 20, first_nan: int | None = 20, **more: object) -> Record:
    losses = falling(2, 0.5, 100)
    if first_nan is not None:
        losses[first_nan:] = math.nan
    given = {"count": 3, "total": 640, "rows": (4, 9), "columns": (2,), "columns_total": 10, "batches": 1, "batches_seen": 21, "loss_nonfinite": True}
    fact = NonfiniteBatch(role=role, step=step, place=Place("train.py", 3), **(given | more))  # type: ignore[arg-type]
    return make_record(series={"loss/train": losses}, nonfinite=[fact], sources={"train.py": SOURCE})


def look_alikes(role: str) -> Iterable[tuple[str, Record]]:
    yield "the model handles it", batch(role, first_nan=None, loss_nonfinite=False)
    yield "a legal mask of minus infinity", batch(role, kind="-inf", loss_nonfinite=False, first_nan=None)
    yield "the loss was broken long before", batch(role, step=60, first_nan=20)
    yield "the other side", batch("target" if role == "input" else "input")


class TestNonfiniteInput(CauseTestCase):
    cause = "nonfinite-input"

    def sick(self) -> Iterable[Record]:
        yield batch("input")
        yield batch("input", kind="-inf")
        yield batch("input", step=0, first_nan=0, batches=1, batches_seen=1)

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        return look_alikes("input")


class TestNonfiniteTarget(CauseTestCase):
    cause = "nonfinite-target"

    def sick(self) -> Iterable[Record]:
        yield batch("target")
        yield batch("target", kind="inf")

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        return look_alikes("target")


def test_the_evidence_names_rows_columns_and_samples() -> None:
    text = assert_suspects(batch("input", samples=(1204, 77)), "nonfinite-input").evidence[0].text
    assert "3 of 640 values" in text and "samples 1204, 77" in text and "column 2 of 10" in text and "1 batch of 21" in text


def test_the_logarithm_of_zero_becomes_log1p() -> None:
    diff = assert_suspects(batch("target", kind="-inf"), "nonfinite-target").fix.diff
    assert added(diff) == ["target = torch.log1p(units)"]


def test_a_loss_without_a_curve_is_enough() -> None:
    record = batch("input", step=0)
    bare = make_record(nonfinite=list(record.facts.nonfinite), series={"loss/train": np.array([math.nan])})
    assert_suspects(bare, "nonfinite-input")


def test_minus_infinity_is_placed_at_the_only_logarithm() -> None:
    suspicion = assert_suspects(batch("target", kind="-inf"), "nonfinite-target")
    assert suspicion.place is not None and suspicion.place.line == 2
    other = assert_suspects(batch("target", kind="inf"), "nonfinite-target")
    assert other.place is not None and other.place.line == 3
