"""How sure a model is beside how right it is, counted batch by batch."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sickbay.facts.evaluated import Reliability, ReliabilityBin

BINS = 10
"""As in the calibration that a watched run shows (observe/examples/scores.py), so that both numbers can be compared."""
DRAWS = 2000


class Sureness:
    """Sums in bins of equal width of a probability."""

    def __init__(self, of: Literal["predicted class", "positive class"]) -> None:
        self.of = of
        self.count, self.sure, self.right, self.variance = np.zeros((4, BINS))
        self.said_right = 0.0
        """Answers that were right; beside "yes" of "positive class", a "no" can be."""

    def add(self, sure: NDArray[Any], right: NDArray[Any], said_right: float) -> None:
        """Probabilities, whether each came true, and how many of the answers were right."""
        bins = np.minimum((sure * BINS).astype(np.int64), BINS - 1)
        self.count += np.bincount(bins, minlength=BINS)
        self.sure += np.bincount(bins, sure, BINS)
        self.right += np.bincount(bins, right.astype(np.float64), BINS)
        self.variance += np.bincount(bins, sure * (1 - sure), BINS)
        self.said_right += said_right

    def told(self, *, independent: bool) -> Reliability | None:
        """None where nothing was counted."""
        n = float(self.count.sum())
        if not n:
            return None
        full = self.count > 0
        return Reliability(
            of=self.of,
            error=float(np.abs(self.sure - self.right).sum() / n),
            by_chance=self._by_chance(n) if independent else math.nan,
            confidence=float(self.sure.sum() / n),
            accuracy=float(self.right.sum() / n),
            bins=tuple(
                ReliabilityBin(count=int(c), confidence=float(s / c), right=float(r / c))
                for c, s, r in zip(self.count[full], self.sure[full], self.right[full], strict=True)
            ),
        )

    def _by_chance(self, n: float) -> float:
        """Of a calibrated model, the gap of a bin is a sum of many small accidents: normal, with a variance that is known."""
        gaps = np.abs(np.random.default_rng(0).normal(size=(DRAWS, BINS))) * np.sqrt(self.variance)
        return float(np.quantile(gaps.sum(1) / n, 0.95))
