"""The scale of a model's inputs, from the first batches: sums, so that nothing of the batches is kept."""

from __future__ import annotations

import numpy as np
import torch

from sickbay import facts
from sickbay.observe.numbers import Array, blurred

MOST_BATCHES = 8
MOST_ROWS, MOST_FEATURES = 256, 4096
"""Of each batch."""


class InputScale:
    """Moments of every feature, and the range of all of them. Only finite numbers count."""

    def __init__(self) -> None:
        self.batches = 0
        """Measured, or passed over because they have another width."""
        self.measured = 0
        self.dtype = ""
        self.shape: tuple[int, ...] = ()
        self.low, self.high = np.inf, -np.inf
        self.shift: Array = np.zeros(0)
        """Each feature's mean in the first batch: sums of squares around it stay exact for features far from zero."""
        self.counts: Array = np.zeros(0)
        self.sums: Array = np.zeros(0)
        self.squares: Array = np.zeros(0)

    @property
    def full(self) -> bool:
        return self.batches >= MOST_BATCHES

    def add(self, x: torch.Tensor) -> None:
        self.batches += 1
        part = x.detach()[:MOST_ROWS]
        part = part.reshape(part.shape[0], -1)[:, :MOST_FEATURES] if part.dim() > 1 else part.reshape(-1, 1)
        values = part.cpu().double().numpy()
        finite = np.isfinite(values)
        if self.measured and values.shape[1] != len(self.sums):
            return
        counts = finite.sum(0)
        values = np.where(finite, values, 0.0)
        if not self.measured:
            self.shift = values.sum(0) / np.maximum(counts, 1)
            self.counts = np.zeros(len(counts), np.int64)
            self.sums, self.squares = np.zeros_like(self.shift), np.zeros_like(self.shift)
        self.measured += 1
        self.dtype, self.shape = str(x.dtype).removeprefix("torch."), tuple(x.shape)
        if finite.any():
            self.low, self.high = min(self.low, float(values[finite].min())), max(self.high, float(values[finite].max()))
        values -= self.shift
        values *= finite
        self.counts += counts
        with np.errstate(over="ignore", invalid="ignore"):
            self.sums += values.sum(0)
            self.squares += np.square(values, out=values).sum(0)

    def fact(self) -> facts.InputScale | None:
        """None if no number was finite. Features without any are left out."""
        some = self.counts > 0
        if not some.any():
            return None
        n = self.counts[some]
        with np.errstate(over="ignore", invalid="ignore"):
            offset = self.sums[some] / n
            mean = self.shift[some] + offset
            variance = np.maximum(self.squares[some] / n - offset * offset, 0.0)
            weight = n / n.sum()
            whole = float((weight * mean).sum())
            spread = np.sqrt(variance)
            return facts.InputScale(
                dtype=self.dtype,
                shape=self.shape,
                mean=whole,
                std=float(np.sqrt((weight * (variance + np.square(mean - whole))).sum())),
                minimum=blurred(self.low),
                maximum=blurred(self.high),
                feature_std_min=float(spread.min()),
                feature_std_max=float(spread.max()),
                feature_abs_mean_max=float(np.abs(mean).max()),
                batches=self.measured,
            )
