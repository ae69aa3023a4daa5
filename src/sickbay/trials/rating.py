"""What validation says of two runs: better, worse or the same, and in which words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sickbay.nouns import Series

if TYPE_CHECKING:
    from sickbay.trials.compare import Course

STANDARD_ERRORS = 3.0


def rated_by_validation(untreated: Course, treated: Course, redefined: bool) -> tuple[int, str] | None:
    """By what validation shows: its accuracy, or where that is not known, or too coarse to tell and the loss says better, its loss."""
    accuracy, loss = _accuracy(untreated, treated), _evaluated(untreated, treated, redefined)
    if accuracy is None or loss is None:
        return accuracy or loss
    return (1, accuracy[1] + loss[1]) if accuracy[0] == 0 and loss[0] > 0 else accuracy


def _accuracy(untreated: Course, treated: Course) -> tuple[int, str] | None:
    """Better, worse or the same on the validation data (1, -1, 0), by the sampling error of the accuracy."""
    a, b = _last(untreated.accuracy), _last(treated.accuracy)
    if a is None or b is None or untreated.accuracy.steps[-1] != treated.accuracy.steps[-1]:
        return None
    n = min(untreated.samples, treated.samples)
    if not n:
        return None
    error = math.sqrt((a * (1 - a) + b * (1 - b)) / n + 1e-9)
    told = f"; validation accuracy {a:.0%} → {b:.0%}"
    return (0 if abs(b - a) < max(STANDARD_ERRORS * error, 0.02) else 1 if b > a else -1), told


def _evaluated(untreated: Course, treated: Course, redefined: bool) -> tuple[int, str] | None:
    """The same by the validation loss: a fifth lower, and by more than twice what it ever rose between two evaluations."""
    a, b = _last(untreated.evaluation), _last(treated.evaluation)
    if a is None or b is None or redefined or min(a, b) <= 0:
        return None
    rises = np.concatenate([np.diff(np.log(_positive(s.values)[-6:])) for s in (untreated.evaluation, treated.evaluation)])
    limit = max(0.2, 2 * float(np.max(rises, initial=0.0)))
    change = math.log(a) - math.log(b)
    return (0 if abs(change) < limit else 1 if change > 0 else -1), f"; validation loss {a:.3g} → {b:.3g}"


def _positive(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values[np.isfinite(values) & (values > 0)]


def _last(series: Series) -> float | None:
    values = series.values[np.isfinite(series.values)]
    return float(values[-1]) if len(values) else None
