"""Every style of log is read with the right numbers and judged by the shape that its curves have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from record.foreign.curves import SHAPES, Curves, draw
from record.foreign.styles import STYLES
from sickbay.conclude import diagnose
from sickbay.record.foreign import read_logs
from sickbay.record.reader import Record


def read_one(curves: Curves, name: str, folder: Path) -> Record:
    found = read_logs([STYLES[name](curves, folder)])
    assert len(found) == 1, "one run was written"
    return found[0]


def assert_same(read: np.ndarray, written: np.ndarray) -> None:
    """The same values; a style may log each one twice, and may leave out the first."""
    times = max(1, len(read) // len(written))
    assert len(read) >= times * (len(written) - 1)
    np.testing.assert_allclose(read[times - 1 :: times][-len(written) + 1 :], written[1:], rtol=1e-4)


@pytest.mark.parametrize("name", STYLES)
@pytest.mark.parametrize("validated", [True, False])
def test_the_numbers_are_those_that_were_written(name: str, validated: bool, tmp_path: Path) -> None:
    curves = draw("healthy", 1, validated=validated)
    record = read_one(curves, name, tmp_path)
    assert_same(record.series("loss/train").values, curves.train)
    if curves.val is None:
        assert not record.series_like("loss/eval")
    else:
        assert_same(record.series("loss/eval").values, curves.val)
    assert np.all(np.diff(record.series("loss/train").steps) > 0)


@pytest.mark.parametrize("name", STYLES)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_shape_is_told_first(name: str, shape: str, tmp_path: Path) -> None:
    diagnosis = diagnose(read_one(draw(shape, 2), name, tmp_path))
    assert diagnosis.shapes[0] == shape, diagnosis.reason
    assert (diagnosis.verdict == "healthy") == (shape == "healthy")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(20))
def test_many_curves_of_each_shape(shape: str, seed: int, tmp_path: Path) -> None:
    diagnosis = diagnose(read_one(draw(shape, 100 + seed), "keras csv", tmp_path))
    assert diagnosis.shapes[0] == shape, diagnosis.reason
