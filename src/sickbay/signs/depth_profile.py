"""Gradient size from the first layer to the last: shared by the two signs that look at it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sickbay.record.reader import Record
from sickbay.signs.curves import rank_correlation
from sickbay.signs.layers import in_steps, nanmedian, root_mean_square, weights

MINIMUM_LAYERS = 4
BLOCKS = (1, 2, 3)


@dataclass(frozen=True)
class Profile:
    """Root mean square of each weight's gradient, first layer first, and the steps it was taken from."""

    names: tuple[str, ...]
    layers: tuple[str, ...]
    size: np.ndarray
    steps: tuple[int, int]
    ratio: float
    """First quarter of the layers over last quarter."""
    order: float
    """Rank correlation of gradient size with depth: +1 when every deeper layer has a larger gradient."""
    jump: float = 0.0
    """The largest share that a single layer has in the whole way (of logarithms): small where many layers add up, near 1 where one does it all."""


def depth_profile(record: Record) -> Profile | None:
    """The profile over the first half of the run, without the first two steps (zero-initialised parts wake up in those)."""
    columns = weights(record, record.family("grad_norm"))
    early = in_steps(columns, 2, max(20.0, float(columns.steps[-1]) / 2 if len(columns.steps) else 0.0))
    if len(early.steps) == 0:
        return None
    size = nanmedian(root_mean_square(early), axis=0)
    # Exact zeros are dead or unreached, which is another illness than a gradient that shrinks on its way.
    use = np.flatnonzero(np.isfinite(size) & (size > 0))
    if len(use) < MINIMUM_LAYERS:
        return None
    size, chosen = size[use], [early.parameters[i] for i in use]
    quarter = max(1, len(size) // 4)
    ratio = float(np.median(size[:quarter]) / np.median(size[-quarter:]))
    names, layers = tuple(p.name for p in chosen), tuple(p.layer for p in chosen)
    order, every = order_of(size)
    return Profile(names, layers, size, (int(early.steps[0]), int(early.steps[-1])), ratio, order, jump_of(size, every))


def order_of(size: np.ndarray) -> tuple[float, int]:
    """Blocks of two or three weights (a gate beside each layer) are compared each with its like: the least of these correlations counts. With their length."""
    ways = [([rank_correlation(size[first::every]) for first in range(every)], every) for every in BLOCKS if len(size) >= MINIMUM_LAYERS * every]
    agreed = [(min(way, key=abs), every) for way, every in ways if min(way) > 0 or max(way) < 0]
    return max(agreed, key=lambda found: abs(found[0]), default=(0.0, 1))


def jump_of(size: np.ndarray, every: int) -> float:
    """The largest share that a single layer has in the whole way."""
    shares = []
    for logs in (np.log(size[first::every]) for first in range(every)):
        way = logs[-1] - logs[0]
        shares.append(float(np.max(np.diff(logs) * np.sign(way)) / abs(way)) if way else 1.0)
    return min(shares)
