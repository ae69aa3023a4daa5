"""Room for small copies that are made while the user's own large tensors come and go.

A block that is cloned between two activations stays between them in the heap: when those are freed, the gap can't be joined, and the next large tensor needs
new memory. Measured on a transformer of 40 million weights: 1.5 MB of such clones made the process 80 MB larger. So they are copied to pages of their own.
"""

from __future__ import annotations

import math
import mmap
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

PAGES_FROM = 2**14
"""Fewer numbers than that (64 KB) are no obstacle to large tensors, and asking for pages costs more than copying them."""


def pages(numbers: int) -> torch.Tensor:
    """Room for so many numbers in single precision, outside the heap. Pages that are never written to take no memory."""
    return torch.frombuffer(mmap.mmap(-1, 4 * numbers), dtype=torch.float32)


def cleared(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Zeros, that will be kept: outside the heap, if they are many."""
    count = math.prod(shape)
    if count < PAGES_FROM:
        return np.zeros(shape, dtype)
    return np.frombuffer(mmap.mmap(-1, count * dtype.itemsize), dtype).reshape(shape)


class Scratch:
    """Room for the copies of several steps, end to end, until their arithmetic is done."""

    def __init__(self, room: int) -> None:
        self._room = pages(room)
        self._used = self._begun = 0

    def copy(self, view: torch.Tensor) -> torch.Tensor:
        """A contiguous copy: here while there is room and it lies in main memory, else wherever torch puts it."""
        start, size = self._used, view.numel()
        if not view.is_cpu or view.dtype != torch.float32 or start + size > len(self._room):
            return view.clone(memory_format=torch.contiguous_format)
        self._used = start + size
        return self._room[start : start + size].view(view.shape).copy_(view)

    def row(self, numbers: int) -> torch.Tensor | None:
        """The copies since the last row, so many numbers, end to end as they lie here; None if some lie elsewhere."""
        begun, self._begun = self._begun, self._used
        return self._room[begun : self._used] if self._used - begun == numbers else None

    def clear(self) -> None:
        """All copies have been used."""
        self._used = self._begun = 0
