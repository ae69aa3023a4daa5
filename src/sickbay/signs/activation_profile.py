"""Size of what the layers give, from the first to the last: shared by the two signs that look at it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sickbay.nouns import Family
from sickbay.signs.depth_profile import jump_of, order_of
from sickbay.signs.layers import nanmedian

MINIMUM_SITES = 6
"""Outputs that are compared, of layers and of the functions behind them; fewer are no depth."""
ORDER = 0.8
JUMP = 0.6
"""Most of the way in one place is no product of many layers: a last layer that gives prices, a normalisation, two networks side by side."""


@dataclass(frozen=True)
class ActivationProfile:
    """Size of each hidden output, in the order of the forward pass."""

    names: tuple[str, ...]
    size: np.ndarray
    steps: tuple[int, int]
    ratio: float
    """Last quarter of the outputs over the first."""

    @property
    def by_depth(self) -> bool:
        """Whether it changes in one direction, layer by layer."""
        order, every = order_of(self.size)
        return bool(order * np.sign(np.log(self.ratio)) > ORDER) and jump_of(self.size, every) < JUMP


def activation_profile(family: Family, first: float, last: float) -> ActivationProfile | None:
    """Over the looks between these parts of the run (0 to 1). The last output is left out: its scale is that of the answers."""
    looks = len(family.steps)
    low, high = int(first * looks), max(int(np.ceil(last * looks)), int(first * looks) + 1)
    rows, steps = family.values[low:high, :-1], family.steps[low:high]
    if len(steps) == 0 or rows.shape[1] < MINIMUM_SITES:
        return None
    size = nanmedian(rows, axis=0)
    use = np.flatnonzero(np.isfinite(size) & (size > 0))  # exact zeros are dead units
    if len(use) < MINIMUM_SITES:
        return None
    quarter = max(1, len(use) // 4)
    ratio = float(np.median(size[use[-quarter:]]) / np.median(size[use[:quarter]]))
    return ActivationProfile(tuple(family.names[i] for i in use), size[use], (int(steps[0]), int(steps[-1])), ratio)
