"""Statistics of a curve that know the curve's own noise.

Batch losses are noisy, and how noisy differs by orders of magnitude between runs, so nothing here compares with a fixed
number: the noise is the robust spread of the step-to-step differences, and a level is a median over several steps with
the standard error that this noise gives it. All functions take finite values in step order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sickbay.nouns import Series

Values = NDArray[np.float64]

HUGE = 1e100
"""What is beyond it counts as infinite: its squares overflow, and no run comes back from there."""
MAD_TO_SIGMA = 1.4826
MEDIAN_ERROR = 1.25
"""The standard error of a median is 1.25 times that of a mean (normal noise)."""


@dataclass(frozen=True)
class Curve:
    """The finite part of a series, with its noise and where it first was not finite."""

    name: str
    steps: NDArray[np.int64]
    values: Values
    noise: float
    first_nonfinite: int | None
    """Step of the first value that is NaN or infinite."""
    nonfinite: int
    """How many values are not finite."""

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Level:
    """A robust level of a stretch of a curve and its standard error."""

    value: float
    error: float


def curve(series: Series) -> Curve:
    finite = np.abs(series.values) <= HUGE  # neither NaN nor infinite
    bad = np.flatnonzero(~finite)
    values = series.values[finite]
    first = int(series.steps[bad[0]]) if len(bad) else None
    return Curve(series.name, series.steps[finite], values, noise(values), first, len(bad))


def noise(values: Values) -> float:
    """Standard deviation of what changes from one value to the next and back: trends and rare jumps do not count."""
    if len(values) < 3:
        return 0.0
    d = np.diff(values)
    return float(MAD_TO_SIGMA * np.median(np.abs(d - np.median(d))) / math.sqrt(2))


def level(values: Values, sigma: float) -> Level:
    if len(values) == 0:
        return Level(math.nan, math.inf)
    return Level(float(np.median(values)), MEDIAN_ERROR * sigma / math.sqrt(len(values)))


def start(c: Curve, share: float = 0.02) -> Level:
    """Where the curve begins: the first 2 % of it, at least 3 and at most 20 values."""
    return level(c.values[: _count(len(c), share, 3, 20)], c.noise)


def end(c: Curve, share: float = 0.1) -> Level:
    """Where the curve ends: the last tenth of it, at least 3 values."""
    return level(c.values[-_count(len(c), share, 3, 10**9) :], c.noise)


def _count(n: int, share: float, least: int, most: int) -> int:
    return max(1, min(n, most, max(least, int(share * n))))


def blocks(values: Values, count: int) -> Values:
    """Medians of `count` consecutive stretches of about equal length (fewer when there are fewer values)."""
    return np.array([np.median(part) for part in np.array_split(values, min(count, len(values)))]) if len(values) else np.empty(0)


def best(c: Curve, count: int = 20) -> Level:
    """The lowest level that a twentieth of the curve kept."""
    parts = min(count, max(1, len(c) // 3))
    size = max(1, len(c) // parts)
    return Level(float(np.min(blocks(c.values, parts))), MEDIAN_ERROR * c.noise / math.sqrt(size))


def fall(c: Curve) -> tuple[float, float]:
    """How far the best level is below the start, and the error of that difference.

    A long run may have fallen within its first hundredth, a noisy one shows its start only over many steps: of several
    lengths of "start" the one counts that shows the fall most clearly.
    """
    if not len(c):  # no value was finite
        return 0.0, math.inf
    low = best(c)
    first = [level(c.values[:k], c.noise) for k in (3, 5, 10, max(3, len(c) // 50), max(3, len(c) // 10)) if k <= len(c)]
    candidates = [(s.value - low.value, math.hypot(s.error, low.error)) for s in first] or [(0.0, math.inf)]
    return max(candidates, key=lambda t: t[0] / (t[1] + 1e-12 * (1 + abs(t[0]))))


def fell(c: Curve, share: float = 0.05, errors: float = 4.0) -> bool:
    """Whether it fell by more than chance (`errors` standard errors: at 4, one false call in 30,000) and by `share` of its start."""
    drop, error = fall(c)
    return drop > errors * error and drop > share * abs(start(c).value)


def trend_share(c: Curve) -> float:
    """Share of the whole descent that the second half of the curve still made: 0.5 for a straight line, about 0 when done."""
    third = max(2, len(c) // 8)
    first, middle, last = c.values[:third], c.values[len(c) // 2 - third // 2 :][:third], c.values[-third:]
    total = float(np.median(first) - np.median(last))
    return float(np.median(middle) - np.median(last)) / total if total > 0 else 0.0


def drift(values: Values, sigma: float) -> tuple[float, float]:
    """How far a stretch of a curve falls along its straight line, and the error of that: the line through its medians."""
    parts = blocks(values, 20)
    if len(parts) < 3:
        return (float(values[0] - values[-1]) if len(values) else 0.0), math.inf
    t = np.linspace(-0.5, 0.5, len(parts))
    return -float(np.dot(t, parts) / np.dot(t, t)), MEDIAN_ERROR * sigma * math.sqrt(12 / len(values))


def lag_one(values: Values) -> float:
    """Correlation of each value with the one before, after a slow trend is taken out: -1 swings, 0 is noise, +1 is smooth."""
    if len(values) < 8:
        return 0.0
    x = values - smooth(values, max(5, len(values) // 10))
    variance = float(np.dot(x, x))
    return float(np.dot(x[1:], x[:-1])) / variance if variance > 0 else 0.0


def smooth(values: Values, width: int) -> Values:
    """Centred running mean; the ends use what is there."""
    width = max(1, min(width, len(values)))
    total = np.concatenate([[0.0], np.cumsum(values)])
    i = np.arange(len(values))
    low, high = np.maximum(0, i - width // 2), np.minimum(len(values), i + width // 2 + 1)
    return np.asarray((total[high] - total[low]) / (high - low))


def running_median(values: Values, width: int) -> Values:
    """Median of the `width` values before each one (fewer at the beginning; the first is its own)."""
    out = np.array([np.median(values[:i]) if i else values[0] for i in range(min(width, len(values)))])
    if len(values) <= width:
        return out
    windows = np.lib.stride_tricks.sliding_window_view(values, width)[: len(values) - width]
    return np.concatenate([out, np.median(windows, axis=1)])


def rank_correlation(values: Values) -> float:
    """With the order in which they come: +1 if each is larger than the one before, 0 for noise. Values that are all the same have no order."""
    if len(values) < 3 or float(np.ptp(values)) == 0.0:
        return 0.0
    ranks = np.argsort(np.argsort(values)).astype(float)
    return float(np.corrcoef(np.arange(len(values)), ranks)[0, 1])
