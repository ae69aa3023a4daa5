"""Gradient size from the first layer to the last: shared by the two signs that look at it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sickbay.record.reader import Record
from sickbay.signs.layers import in_steps, nanmedian, root_mean_square, weights

MINIMUM_LAYERS = 4


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
    return Profile(names, layers, size, (int(early.steps[0]), int(early.steps[-1])), ratio, _rank_correlation(size))


def _rank_correlation(size: np.ndarray) -> float:
    ranks = np.argsort(np.argsort(size)).astype(float)
    return float(np.corrcoef(np.arange(len(size)), ranks)[0, 1])
