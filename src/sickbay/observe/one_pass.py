"""Whether one whole pass over a set of samples was scaled by that set itself: then every feature has mean 0 and spread 1 to the last digits, which the numbers of other
samples never give. Sums and ranges only."""

from __future__ import annotations

import numpy as np

from sickbay import facts
from sickbay.observe.numbers import Array

MOST_BATCHES = 512
EXACT = 1e-4
"""What single precision, and a small constant beside the spread, leave. Numbers of other samples are off by about 1 / sqrt(rows): 0.007 for 20,000."""
EDGE = 1e-6
FEWEST_ROWS, FEWEST_FEATURES = 50, 2
"""Two features of 20,000 rows have both by chance once in thirty million times."""
MOST = 0.5
"""...of the features that vary: categories are mostly left as they are."""
SINGLE = 2
"""Rows that lie at the edge of a measured feature: of shares and pixels, which end there by nature, many do."""


class OnePass:
    """Sums of one pass."""

    def __init__(self) -> None:
        self.whole = True
        self.batches = self.rows = 0
        self.sums: Array = np.zeros(0)
        self.squares: Array = np.zeros(0)
        self.low: Array = np.zeros(0)
        self.high: Array = np.zeros(0)
        self.at_low: Array = np.zeros(0)
        self.at_high: Array = np.zeros(0)

    def add(self, columns: Array) -> None:
        fits = not self.rows or columns.shape[1] == len(self.sums)
        self.whole = self.whole and self.batches < MOST_BATCHES and fits and columns.dtype.kind == "f" and bool(np.isfinite(columns).all())
        if not self.whole or not len(columns):
            return
        values = columns.astype(np.float64)
        first = not self.rows
        self.batches += 1
        self.rows += len(values)
        low, high = values.min(0), values.max(0)
        if first:
            self.sums, self.squares = np.zeros(len(low)), np.zeros(len(low))
            self.low, self.high, self.at_low, self.at_high = low, high, np.zeros(len(low)), np.zeros(len(low))
        self.at_low = np.where(low < self.low - EDGE, 0, self.at_low) + (np.abs(values - np.minimum(low, self.low)) <= EDGE).sum(0)
        self.at_high = np.where(high > self.high + EDGE, 0, self.at_high) + (np.abs(values - np.maximum(high, self.high)) <= EDGE).sum(0)
        self.low, self.high = np.minimum(low, self.low), np.maximum(high, self.high)
        self.sums += values.sum(0)
        self.squares += (values * values).sum(0)

    def fact(self) -> facts.OwnScale | None:
        """None where the features have no scale that they can only have by themselves."""
        if not self.whole or self.rows < FEWEST_ROWS:
            return None
        mean = self.sums / self.rows
        spread = np.sqrt(np.maximum(self.squares / self.rows - mean * mean, 0.0))
        varies = spread > EXACT * np.maximum(np.abs(mean), EXACT)
        for kind, found in (("standardised", standard(mean, spread, self.rows)), ("min-max", self._from_edge_to_edge())):
            if (count := int((found & varies).sum())) >= max(FEWEST_FEATURES, MOST * varies.sum()):
                return facts.OwnScale(kind=kind, features=count, of=int(varies.sum()), rows=self.rows)
        return None

    def _from_edge_to_edge(self) -> Array:
        """Exactly from 0 (or -1) to 1, and a single row at each end."""
        ends = (np.minimum(np.abs(self.low), np.abs(self.low + 1)) <= EDGE) & (np.abs(self.high - 1) <= EDGE)
        return np.asarray(ends & (self.at_low <= SINGLE) & (self.at_high <= SINGLE))


def standard(mean: Array, spread: Array, rows: int) -> Array:
    """Mean 0 and spread 1 (of the sample, or as it estimates the spread of what it was drawn from)."""
    sample = spread * np.sqrt(rows / max(rows - 1, 1))
    return np.asarray((np.abs(mean) <= EXACT) & (np.minimum(np.abs(spread - 1), np.abs(sample - 1)) <= EXACT))
