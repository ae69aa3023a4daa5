"""Validation jumps up and down between evaluations by more than so many samples can make it jump."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Series, Sign
from sickbay.record.reader import Record
from sickbay.signs.losses import adversarial, index
from sickbay.signs.registry import share, sign
from sickbay.signs.validation import comparisons, smoothed

FEWEST, FEWEST_UNKNOWN = 8, 12
"""Evaluations; more where nothing but the curve itself says how much of a jump is chance."""
BEGUN = 1 / 3
"""Of the evaluations, left out: while a model learns fast it may well be thrown about."""
ERRORS = 5.0
"""Two evaluations of different samples would differ by 1.4 standard errors; of the same samples most errors are the same, so that five are far beyond chance."""
POINTS, POINTS_UNKNOWN = 0.05, 0.15
"""Of accuracy: less is told by no one, however many the samples; three times that where their number is not known (a log)."""
OF_LEVEL, OF_START = 0.3, 0.1
"""A loss jumps by three tenths of where it stands, and by a tenth of where it began: near zero, multiples of nothing are nothing."""
OFTEN, OFTEN_UNKNOWN = 0.3, 0.4
"""Of the evaluations are out of line: one bad checkpoint is an accident."""


@sign("val-noisy")
def val_noisy(record: Record) -> Iterator[Sign]:
    if adversarial(record):
        return
    samples = {e.index: e.samples for e in record.facts.evaluations}
    scored = set()
    for series in record.series_like("accuracy/eval"):
        scored.add(index(series))
        yield from _accuracy(series, samples.get(index(series), 0))
    for c in comparisons(record):
        series = record.series(c.validation.name)
        if index(series) not in scored and c.shift == 0:
            yield from _loss(Series(series.name, c.validation.steps, c.validation.values), c.begin)


def _accuracy(series: Series, samples: int) -> Iterator[Sign]:
    values = series.values[np.isfinite(series.values)]
    if len(values) < (FEWEST if samples else FEWEST_UNKNOWN):
        return
    values = values / (100 if float(np.max(values)) > 1 else 1)
    late = values[int(BEGUN * len(values)) :]
    middle = float(np.median(late))
    error = sampling_error(middle, samples) if samples else 0.0
    limit = max(POINTS, ERRORS * error) if samples else POINTS_UNKNOWN
    out = np.abs(out_of_line(late))
    if not _often(out > limit, OFTEN if samples else OFTEN_UNKNOWN):
        return
    jump = float(np.median(out[out > limit]))
    chance = f"; {samples:,} samples explain {100 * error:.1f}" if samples else ""
    yield Sign(
        name="val-noisy",
        where=series.name,
        steps=(int(series.steps[-len(late)]), int(series.steps[-1])),
        strength=share(jump, limit, 4 * limit),
        numbers={"jump": jump, "level": middle, "jumps": float(np.count_nonzero(out > limit)), "evaluations": float(len(late))}
        | ({"samples": float(samples), "error": error} if samples else {}),
        text=f"validation accuracy jumps by {100 * jump:.0f} points at {np.count_nonzero(out > limit)} of the last {len(late)} evaluations{chance}",
    )


def _loss(series: Series, begin: float) -> Iterator[Sign]:
    late = series.values[int(BEGUN * len(series)) :]
    if len(series) < FEWEST_UNKNOWN or not np.all(late > 0):
        return
    middle = float(np.median(late))
    limit = max(OF_LEVEL * middle, OF_START * begin)
    out = np.abs(out_of_line(late))
    if _often(out > limit, OFTEN_UNKNOWN):
        jump = float(np.median(out[out > limit]))
        yield Sign(
            name="val-noisy",
            where=series.name,
            steps=(int(series.steps[-len(late)]), int(series.steps[-1])),
            strength=share(jump, limit, 4 * limit),
            numbers={"jump": jump, "level": middle, "jumps": float(np.count_nonzero(out > limit)), "evaluations": float(len(late))},
            text=f"validation loss jumps by {jump:.3g} at {np.count_nonzero(out > limit)} of the last {len(late)} evaluations, around a level of {middle:.3g}",
        )


def sampling_error(rate: float, samples: int) -> float:
    """Standard error of a share of so many; two of each are added, so that it is not 0 where all were right."""
    p = (rate * samples + 2) / (samples + 4)
    return math.sqrt(p * (1 - p) / samples)


def out_of_line(values: np.ndarray) -> np.ndarray:
    """How far each value is above or below both its neighbours, from the nearer one: a trend, however steep, is in line, and so is what stands beside one bad value."""
    return np.asarray(values[1:-1] - smoothed(values)[1:-1])


def _often(jumps: np.ndarray, often: float) -> bool:
    return bool(np.count_nonzero(jumps) >= max(3, often * len(jumps)))
