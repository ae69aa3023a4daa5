"""Whether one noisy curve lies below another: an effect, and the noise that it has to beat.

Both curves are cut into blocks of equal length and each block is known by its median, which forgives spikes. The effect is the median difference of
the blocks in the second half, in logarithms: 0.1 is about ten per cent. The noise is what block medians do that is no descent, in either
run: their distance from the best curve that only falls, over the whole run, which also knows of wandering slower than a block, and
their distance from a straight line in the second half. Everything is relative to the runs' own scatter; nothing assumes a distribution.

The limits below were set by simulation (tests/trials/test_compare.py): of pairs that differ by nothing but noise (white, wandering, heavy-tailed
with two degrees of freedom; flat and falling; 24 to 2,000 steps) fewer than 1 % are told apart, as long as the wandering forgets itself
within an eighth of the run. What wanders slower than that looks like an effect to any statistic, and is why pairs share their seed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Relation = Literal["lower", "higher", "same", "unclear"]

FEWEST = 12
"""Common steps from which two curves can be compared: four blocks of three."""
BLOCKS = 16
SOLVED = 0.003
"""Losses below this share of the start are all the same: done."""
NOTABLE = 0.1
"""A tenth lower is worth a word; less is what another seed gives."""
TIMES_NOISE = 3.5
SHORT = 30
"""Steps at which both limits are doubled: few steps know little of their own noise."""
AGREEING = 0.85
"""Share of the blocks that must lie on the same side."""
BLIND = 0.7
"""Where even half the loss (log 2) would not stand out of the noise, that nothing is seen says nothing."""

FEWEST_PAIRS = 3
T_998 = (318.3, 22.33, 10.21, 7.173, 5.893, 5.208)
"""Student's t, two-sided 99.8 %, for 1 to 6 degrees of freedom. Pairs are added one by one, and each time is a chance to be wrong: with 99.5 % the
simulation told 1.2 % of noise that wanders slowly apart, with this 0.6 %."""


@dataclass(frozen=True, slots=True)
class Levels:
    """How the treated curve lies to the untreated one."""

    relation: Relation
    effect: float = 0.0
    """Positive if the treated one is lower; a difference of logarithms."""
    noise: float = 0.0
    steps: int = 0


def compare_levels(untreated: Floats, treated: Floats, *, own_start: bool = False) -> Levels:
    """Of two curves over the same steps, all finite. With `own_start` each is taken relative to its own first values."""
    n = len(untreated)
    if n < FEWEST:
        return Levels("unclear", steps=n)
    first, second = _scaled(untreated, treated, own_start)
    edges = np.linspace(0, n, min(BLOCKS, n // 3) + 1).astype(int)
    a, b = (np.array([np.median(c[i:j]) for i, j in itertools.pairwise(edges)]) for c in (first, second))
    half = len(a) // 2
    differences = a[half:] - b[half:]
    effect = float(np.median(differences))
    noise = math.hypot(_noise(a), _noise(b))
    agreeing = float(np.mean(np.sign(differences) == np.sign(effect))) if effect else 0.0
    return Levels(_relation(effect, TIMES_NOISE * noise * (1 + SHORT / n), n, agreeing >= AGREEING), effect, noise, n)


def combine(pairs: Sequence[Levels]) -> Levels:
    """Of several pairs of runs, each pair with a seed of its own: their effects are a sample, whatever the noise inside of a run is like."""
    effects = np.array([pair.effect for pair in pairs])
    effect, n = float(effects.mean()), min(pair.steps for pair in pairs)
    if len(pairs) < FEWEST_PAIRS:
        return Levels("unclear", effect, float(np.mean([pair.noise for pair in pairs])), n)
    noise = float(effects.std(ddof=1)) / math.sqrt(len(pairs))
    agreeing = bool((np.sign(effects) == np.sign(effect)).all())
    return Levels(_relation(effect, T_998[len(pairs) - 2] * noise, n, agreeing), effect, noise, n)


def _relation(effect: float, limit: float, steps: int, agreeing: bool) -> Relation:
    """`limit` is what noise alone may give."""
    if abs(effect) > max(NOTABLE * (1 + SHORT / steps), limit) and agreeing:
        return "lower" if effect > 0 else "higher"
    return "unclear" if limit > BLIND or abs(effect) > 2 * NOTABLE else "same"


def _scaled(untreated: Floats, treated: Floats, own_start: bool) -> tuple[Floats, Floats]:
    """Logarithms where losses are positive; else the distance in units of how far the untreated run moved."""
    if min(untreated.min(), treated.min()) > 0:
        starts = [start_of(untreated), start_of(treated)]
        if not own_start:
            starts = [starts[0]] * 2
        return tuple(np.log(np.maximum(c / s, SOLVED)) for c, s in zip((untreated, treated), starts, strict=True))  # type: ignore[return-value]
    unit = float(np.ptp(untreated)) or float(np.ptp(treated)) or 1.0
    return untreated / unit, treated / unit


def start_of(curve: Floats) -> float:
    return float(np.median(curve[: max(1, min(5, len(curve) // 10))]))


def _noise(blocks: Floats) -> float:
    half = len(blocks) // 2
    wander = _spread(blocks - falling(blocks))
    tail = blocks[half:]
    x = np.arange(len(tail))
    residuals = tail - np.polyval(np.polyfit(x, tail, 1), x)
    local = math.sqrt(float(residuals @ residuals) / max(1, len(tail) - 2))
    return max(wander, local)


def _spread(residuals: Floats) -> float:
    return math.sqrt(float(residuals @ residuals) / max(1, len(residuals) - 2))


def falling(values: Floats) -> Floats:
    """The nearest curve that never rises (isotonic regression, by pooling neighbours that rise)."""
    pools: list[tuple[float, int]] = []
    for value in values:
        total, count = float(value), 1
        while pools and pools[-1][0] / pools[-1][1] < total / count:
            before, many = pools.pop()
            total, count = total + before, count + many
        pools.append((total, count))
    return np.concatenate([np.full(count, total / count) for total, count in pools])
