"""Statistics of many small blocks at once, in numpy: one pass over one flat array instead of one call per tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sickbay.facts import HISTOGRAM_BINS, HISTOGRAM_DECADES
from sickbay.observe.scratch import PAGES_FROM, pages
from sickbay.observe.trace import inside_transform

Array = NDArray[Any]
HISTOGRAM_SAMPLE = 1024


class Blocks:
    """How blocks of numbers lie end to end in a row: block i is `row[starts[i]:starts[i] + sizes[i]]`.

    All methods take one row, or several rows of the same layout at once (the last axis is the row), and give a number per block.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = np.array(sizes, dtype=np.int64)
        self.starts = np.cumsum(self.sizes) - self.sizes
        self._none_empty = bool(len(self.sizes)) and bool(self.sizes.all())

    def _reduce(self, operation: np.ufunc, values: Array) -> Array:
        """Per block; reduceat itself would give an empty block its neighbour's number instead of 0."""
        if self._none_empty:
            return np.asarray(operation.reduceat(values, self.starts, axis=-1))
        full = self.sizes > 0
        result = np.zeros((*values.shape[:-1], len(self.sizes)), values.dtype)
        if full.any():
            result[..., full] = operation.reduceat(values, self.starts[full], axis=-1)
        return result

    def sums(self, values: Array) -> Array:
        return self._reduce(np.add, values)

    def norms(self, values: Array) -> Array:
        exact = values.astype(np.float64)
        return np.sqrt(self.sums(exact * exact))

    def means(self, values: Array) -> Array:
        return self.sums(values) / np.maximum(self.sizes, 1)

    def profile(self, values: Array) -> tuple[Array, Array, Array, Array]:
        """Mean, standard deviation, largest |x| and share of zeros. In single precision and around the mean: four times as
        fast as in double, and exact to a few parts in ten thousand."""
        with np.errstate(over="ignore", invalid="ignore"):
            mean = self.means(values)
            scratch = values - np.repeat(mean.astype(np.float32), self.sizes, axis=-1)
            spread = np.sqrt(self.means(np.square(scratch, out=scratch)))
        np.abs(values, out=scratch)
        largest = self._reduce(np.maximum, scratch)
        zeros = self._reduce(np.add, (scratch == 0).astype(np.float32))
        return mean, spread, largest, zeros / np.maximum(self.sizes, 1)

    def histograms(self, row: Array) -> Array:
        """Counts of |x| of one row in half-decade bins, after one bin for zeros; non-finite values are in no bin.

        Of long blocks only an even part is counted, about HISTOGRAM_SAMPLE numbers each: logarithms are dear.
        """
        low, high = HISTOGRAM_DECADES
        every = slice(None, None, max(1, len(row) // max(len(self.sizes) * HISTOGRAM_SAMPLE, 1)))
        values = np.abs(row[every])
        with np.errstate(divide="ignore", invalid="ignore"):
            bins = np.clip(np.floor(2 * (np.log10(values) - low)), -1, 2 * (high - low) - 1) + 1
        block = np.repeat(np.arange(len(self.sizes)) * HISTOGRAM_BINS, self.sizes)[every]
        finite = np.isfinite(values)
        if not finite.all():
            block, bins = block[finite], bins[finite]
        counts = np.bincount(block + bins.astype(np.int64), minlength=len(self.sizes) * HISTOGRAM_BINS)
        return counts.reshape(len(self.sizes), HISTOGRAM_BINS)


def join(blocks: list[torch.Tensor]) -> torch.Tensor:
    """A copy of all blocks in one row, in single precision, where they are: one call, whatever their number."""
    flat = [b if b.dim() == 1 else b.reshape(-1) for b in blocks]
    if any(b.dtype != torch.float32 for b in flat):
        flat = [b.float() for b in flat]
    if not flat:
        return torch.empty(0)
    size = sum(len(b) for b in flat)
    return torch.cat(flat, out=pages(size)) if size >= PAGES_FROM and flat[0].is_cpu else torch.cat(flat)


def rows(joined: list[torch.Tensor]) -> Array:
    """Several such rows of one layout, in numpy."""
    return np.stack([r.cpu().numpy() for r in joined])


def gradient_norms(gradients: list[torch.Tensor]) -> Array:
    """The norm of every gradient: one fused call, one transfer."""
    if not gradients:
        return np.empty(0)
    with torch.no_grad():  # gradients made with create_graph=True have a graph of their own
        dense = [real(g if g.layout == torch.strided else g.coalesce().values()) for g in gradients]
        return torch.stack([n if n.dtype == torch.float32 else n.float() for n in torch._foreach_norm(dense)]).cpu().numpy()


def is_broken(value: Any) -> bool:
    """Whether a single real number in main memory is not finite. What can't be asked (on a device, inside torch.func, complex) is not said to be."""
    if type(value) is not torch.Tensor or inside_transform():
        return False
    with torch._C.DisableTorchFunction():  # a function mode of the user's does not see us ask
        return value.is_cpu and value.numel() == 1 and value.is_floating_point() and not math.isfinite(value.item())


def real(tensor: torch.Tensor) -> torch.Tensor:
    """Complex numbers as pairs: same norm, and no warning about lost imaginary parts."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def total_norm(norms: Array) -> float:
    return math.sqrt(sum(n * n for n in norms.tolist()))


def distinct(values: Array) -> Array:
    """Each number once, in order. `np.unique` would import masked arrays for it: more than a megabyte in the user's process."""
    ordered = np.sort(values, axis=None)
    return np.asarray(ordered[np.concatenate([ordered[:1] == ordered[:1], ordered[1:] != ordered[:-1]])])


def among(values: Array, known: Array) -> Array:
    """Which of these numbers are among the known ones, which are distinct and in order."""
    if not len(known):
        return np.zeros(len(values), bool)
    places = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.asarray(known[places] == values)


def blurred(value: float, digits: int = 4) -> float:
    """To so many digits: an extreme is a number of the user's data, and is not kept as such."""
    return float(f"{value:.{digits}g}")
