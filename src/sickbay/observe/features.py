"""Running mean and spread of inputs, by feature and by row: sums only, nothing of the samples themselves."""

from __future__ import annotations

import numpy as np
import torch

from sickbay import facts
from sickbay.observe.numbers import Array, blurred

MOST_MEASURED = 64
"""Batches over which features are measured."""
MOST_ROW_SCALES, FEWEST_IN_A_ROW = 8, 8
"""Batches over which whole rows are measured; numbers that a row must have for its own mean and spread to mean anything."""


class Features:
    """Running mean and spread of each feature (of those that the key is made of)."""

    def __init__(self) -> None:
        self.batches = self.rows = 0
        self.sums: Array = np.zeros(0)
        self.squares: Array = np.zeros(0)
        self.lowest, self.highest = np.inf, -np.inf
        self.row_mean: tuple[float, float] | None = None
        self.row_std: tuple[float, float] | None = None

    def add_rows(self, x: torch.Tensor) -> None:
        """The scale of whole rows, of the first batches."""
        if self.batches > MOST_ROW_SCALES or not x.is_floating_point() or x.numel() < FEWEST_IN_A_ROW * len(x):
            return
        std, mean = torch.std_mean(x.detach().reshape(len(x), -1).float(), 1)
        self.row_mean, self.row_std = _wider(self.row_mean, mean), _wider(self.row_std, std)

    @property
    def full(self) -> bool:
        return self.batches >= MOST_MEASURED

    def add(self, columns: Array) -> None:
        if self.full or (self.rows and columns.shape[1] != len(self.sums)):
            return
        values = columns.astype(np.float64)
        values = values[np.isfinite(values).all(1)]
        if not len(values):
            return
        self.batches += 1
        self.rows += len(values)
        self.sums = (self.sums if len(self.sums) else 0.0) + values.sum(0)
        self.squares = (self.squares if len(self.squares) else 0.0) + (values * values).sum(0)
        self.lowest, self.highest = min(self.lowest, values.min()), max(self.highest, values.max())

    def fact(self) -> facts.FeatureScale | None:
        if not self.rows:
            return None
        mean = self.sums / self.rows
        spread = np.sqrt(np.maximum(self.squares / self.rows - mean * mean, 0.0))
        return facts.FeatureScale(
            rows=self.rows,
            minimum=blurred(self.lowest),
            maximum=blurred(self.highest),
            mean=tuple(blurred(v, 6) for v in mean),
            std=tuple(blurred(v) for v in spread),
            row_mean=self.row_mean,
            row_std=self.row_std,
        )


def _wider(known: tuple[float, float] | None, values: torch.Tensor) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    low, high = (min(known[0], low), max(known[1], high)) if known is not None else (low, high)
    return blurred(low, 6), blurred(high, 6)
