"""Which part of a data set a loader deals out, by the indices of its samples in the whole: two parts of one whole can be compared without a look at a sample."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from sickbay.observe.numbers import Array, among, distinct

MOST_INDICES = 2**18
"""Indices are lists of Python's numbers, read whenever a loader is started: so many take some ten milliseconds."""
NESTED = 4
"""Subsets of subsets that are followed."""


@dataclass(frozen=True, eq=False)
class Part:
    """Samples of one data set."""

    whole: weakref.ref[Any]
    indices: Array
    """...each once, in order."""

    def same_whole(self, other: Part) -> bool:
        return self.whole() is not None and self.whole() is other.whole()

    def shared_with(self, others: list[Part]) -> int:
        """How many of its samples one of the others has, too."""
        hits = [among(self.indices, other.indices) for other in others if self.same_whole(other)]
        return int(np.logical_or.reduce(hits).sum()) if hits else 0

    def joined(self, other: Part) -> Part:
        return Part(self.whole, distinct(np.concatenate([self.indices, other.indices])))


def part_of(loader: Any) -> Part | None:
    """Of a loader over a `Subset` (as `random_split` makes), or one that a `SubsetRandomSampler` draws from; None for any other."""
    indices, whole = indices_in_whole(getattr(loader, "dataset", None))
    sampler = getattr(loader, "sampler", None)
    if isinstance(sampler, torch.utils.data.SubsetRandomSampler):
        drawn = _whole_numbers(sampler.indices)
        indices = None if drawn is None else drawn if indices is None else indices[drawn]
    if indices is None:
        return None
    try:
        return Part(weakref.ref(whole), distinct(indices))
    except TypeError:  # a plain list
        return None


def indices_in_whole(data: Any) -> tuple[Array | None, Any]:
    """Of a `Subset`, the indices of its samples in the data set that it is a part of, and that data set."""
    part: Array | None = None
    for _ in range(NESTED):
        indices = _whole_numbers(data.indices) if isinstance(data, torch.utils.data.Subset) else None
        if indices is None:
            break
        part = indices if part is None else indices[part]
        data = data.dataset
    return part, data


def _whole_numbers(indices: Any) -> Array | None:
    if len(indices) > MOST_INDICES:
        return None
    numbers = np.asarray(indices)
    return numbers if numbers.ndim == 1 and numbers.dtype.kind in "iu" else None
