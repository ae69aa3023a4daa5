"""Statistics of many small blocks at once, in numpy: one pass over one flat array instead of one call per tensor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sickbay.facts import HISTOGRAM_BINS, HISTOGRAM_DECADES

Array = NDArray[Any]
HISTOGRAM_SAMPLE = 1024


class Blocks:
    """Blocks of numbers laid end to end: `flat[starts[i]:starts[i + 1]]` is block i."""

    def __init__(self, blocks: list[torch.Tensor]) -> None:
        self.sizes = np.array([b.numel() for b in blocks], dtype=np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.int64) if blocks else np.empty(0, np.int64)
        self._none_empty = bool(blocks) and bool(self.sizes.all())
        flat = [b if b.dim() == 1 else b.reshape(-1) for b in blocks]
        if any(b.dtype != torch.float32 for b in flat):
            flat = [b.float() for b in flat]
        joined = torch.cat(flat) if flat else torch.empty(0)
        self.flat: Array = joined.cpu().numpy()

    def _reduce(self, operation: np.ufunc, values: Array) -> Array:
        """Per block; reduceat itself would give an empty block its neighbour's number instead of 0."""
        if self._none_empty:
            return np.asarray(operation.reduceat(values, self.starts))
        full = self.sizes > 0
        result = np.zeros(len(self.sizes), values.dtype)
        if full.any():
            result[full] = operation.reduceat(values, self.starts[full])
        return result

    def sums(self, values: Array) -> Array:
        return self._reduce(np.add, values)

    def norms(self) -> Array:
        exact = self.flat.astype(np.float64)
        return np.sqrt(self.sums(exact * exact))

    def means(self, values: Array | None = None) -> Array:
        return self.sums(self.flat.astype(np.float64) if values is None else values) / np.maximum(self.sizes, 1)

    def largest(self) -> Array:
        return self._reduce(np.maximum, np.abs(self.flat))

    def histograms(self) -> Array:
        """Counts of |x| in half-decade bins, after one bin for zeros; non-finite values are in no bin.

        Of long blocks only an even part is counted, about HISTOGRAM_SAMPLE numbers each: logarithms are dear.
        """
        low, high = HISTOGRAM_DECADES
        every = slice(None, None, max(1, len(self.flat) // max(len(self.sizes) * HISTOGRAM_SAMPLE, 1)))
        values = np.abs(self.flat[every])
        with np.errstate(divide="ignore", invalid="ignore"):
            bins = np.clip(np.floor(2 * (np.log10(values) - low)), -1, 2 * (high - low) - 1) + 1
        block = np.repeat(np.arange(len(self.sizes)) * HISTOGRAM_BINS, self.sizes)[every]
        finite = np.isfinite(values)
        if not finite.all():
            block, bins = block[finite], bins[finite]
        counts = np.bincount(block + bins.astype(np.int64), minlength=len(self.sizes) * HISTOGRAM_BINS)
        return counts.reshape(len(self.sizes), HISTOGRAM_BINS)


def gradient_norms(gradients: list[torch.Tensor]) -> Array:
    """The norm of every gradient: one fused call, one transfer."""
    if not gradients:
        return np.empty(0)
    with torch.no_grad():  # gradients made with create_graph=True have a graph of their own
        dense = [real(g if g.layout == torch.strided else g.coalesce().values()) for g in gradients]
        return torch.stack([n.float() for n in torch._foreach_norm(dense)]).cpu().numpy()


def real(tensor: torch.Tensor) -> torch.Tensor:
    """Complex numbers as pairs: same norm, and no warning about lost imaginary parts."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def total_norm(norms: Array) -> float:
    return math.sqrt(float(np.sum(norms.astype(np.float64) ** 2)))
