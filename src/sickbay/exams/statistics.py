"""What several seeds say together: mean, spread, an interval for the mean, and whether two ways differ by more than that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

T_95 = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086)
"""Student's t, two-sided 95 %, for 1 to 20 degrees of freedom; 1.96 far beyond."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A number over several seeds."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return fmean(self.values)

    @property
    def std(self) -> float:
        return stdev(self.values) if len(self.values) > 1 else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """95 % for the mean."""
        half = t_95(len(self.values) - 1) * self.std / math.sqrt(len(self.values)) if len(self.values) > 1 else math.inf
        return self.mean - half, self.mean + half


def t_95(freedom: float) -> float:
    if freedom < 1:
        return math.inf
    return T_95[int(freedom) - 1] if freedom < len(T_95) + 1 else 1.96 + 2.5 / freedom


def difference(one: Sequence[float], other: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """Mean of the other minus mean of the one, with its 95 % interval (Welch): zero outside of it is more than seed noise."""
    a, b = Spread(tuple(one)), Spread(tuple(other))
    va, vb = (s.std**2 / len(s.values) if len(s.values) > 1 else math.inf for s in (a, b))
    delta = b.mean - a.mean
    if not math.isfinite(va + vb):
        return delta, (-math.inf, math.inf)
    if va + vb == 0:
        return delta, (delta, delta)
    freedom = (va + vb) ** 2 / (va**2 / (len(a.values) - 1) + vb**2 / (len(b.values) - 1))
    half = t_95(freedom) * math.sqrt(va + vb)
    return delta, (delta - half, delta + half)
