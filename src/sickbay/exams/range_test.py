"""A learning-rate range test, read: where the loss falls, where it turns up, and which rate that suggests.

The rate rises exponentially from step to step. The loss first does not care, then falls, then turns up when steps overshoot. A quarter of the rate at
which it turns is far enough from the edge for a whole run (Smith 2017, "Cyclical Learning Rates for Training Neural Networks", section 3.3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SMOOTHING = 0.9
"""Of the running mean, as fastai and Lightning have it for 100 steps; adapted to longer sweeps."""
DIVERGED = 3.0
"""A smoothed loss this many times its best is beyond the turn: what comes after says nothing."""
FELL = 0.05
"""The smoothed loss must fall by this share of its start, or no rate in the sweep taught the model anything."""
BACK_OFF = 4.0
"""From the turn to a rate for a whole run: Smith sets the lower bound of his range at a third or a quarter of the largest rate that converges. On
`python -m bench.range_test` (mlp, cnn, gpt-small, 20 to 200 steps) the suggestion was 1.6 to 2 times off the best rate of a grid with it; with a tenth
it was 6 times too low for the mlp."""
FEWEST = 20


@dataclass(frozen=True, slots=True)
class RangeTest:
    rates: tuple[float, ...]
    losses: tuple[float, ...]
    """Smoothed, as far as they say something."""
    turn: float | None
    """The rate at which the loss is lowest before it turns up; None if it never does."""
    suggestion: float | None
    reason: str


def read_sweep(rates: Floats, losses: Floats) -> RangeTest:
    """From the rate and the loss of each step."""
    n = min(len(rates), len(losses))
    rates, losses = rates[:n], losses[:n]
    finite = np.isfinite(losses)
    end = int(np.argmin(finite)) if not finite.all() else n
    if end < FEWEST:
        return RangeTest((), (), None, None, f"only {end} steps had a finite loss, {FEWEST} or more are needed")
    smooth = _smoothed(losses[:end])
    best = np.minimum.accumulate(smooth)
    start = float(np.median(losses[: max(3, end // 20)]))
    reach = abs(start - float(best.min())) or 1.0
    beyond = np.flatnonzero((smooth > start + reach) | (smooth > DIVERGED * np.maximum(best, 1e-12)))
    beyond = beyond[beyond > np.argmin(smooth[: beyond[-1] + 1])] if len(beyond) else beyond
    stop = int(beyond[0]) + 1 if len(beyond) else end
    seen, lowest = smooth[:stop], int(np.argmin(smooth[:stop]))
    drawn = tuple(map(float, rates[:stop])), tuple(map(float, seen))
    if start - float(seen[lowest]) < FELL * abs(start):
        return RangeTest(*drawn, None, None, "the loss does not fall at any learning rate of the sweep: the rate is not what holds this model back")
    turned = stop < end or end < n or float(seen[-1]) > float(seen[lowest]) + 0.1 * (start - float(seen[lowest]))
    if not turned:
        rate = float(rates[lowest]) / BACK_OFF
        return RangeTest(*drawn, None, rate, f"the loss still falls at the highest rate, {rates[stop - 1]:.2g}: sweep further up")
    turn = float(rates[lowest])
    return RangeTest(*drawn, turn, turn / BACK_OFF, f"the loss is lowest at {turn:.2g} and turns up after it; a quarter of that is a good start")


def _smoothed(losses: Floats) -> Floats:
    """A running mean without the pull of its zero start, then shifted back by its own lag."""
    keep = SMOOTHING if len(losses) <= 100 else SMOOTHING ** (100 / len(losses))
    mean, out = 0.0, np.empty(len(losses))
    for i, value in enumerate(losses):
        mean = keep * mean + (1 - keep) * float(value)
        out[i] = mean / (1 - keep ** (i + 1))
    lag = round(keep / (1 - keep) / 2)
    return np.concatenate([out[lag:], np.full(min(lag, len(out)), out[-1])])


def rounded(rate: float) -> float:
    """1, 2 or 5 times a power of ten: as people write rates."""
    power = 10.0 ** math.floor(math.log10(rate))
    return float(f"{min((1, 2, 5, 10), key=lambda m: abs(math.log(rate / (m * power)))) * power:.3g}")
