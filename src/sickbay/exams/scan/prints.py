"""What each row is known by, and whether all numbers are finite: each in one pass, by the cheapest operation that tells."""

from __future__ import annotations

import numpy as np
import torch

from sickbay.observe.keys import COLUMNS, row_keys
from sickbay.observe.numbers import Array

WORDS = 512
"""64-bit words up to which each word of a row has a factor of its own in its key."""
SPOTS = 12
"""Of a wider row, the numbers at so many places have one, eight in a row; with the sum of all words, which no other row has by chance."""
_FACTORS = np.random.default_rng(20261117).integers(1, 2**63, WORDS, dtype=np.uint64) | np.uint64(1)


def all_finite(flat: Array) -> bool:
    """False where some number is not finite, or so large that it has to be looked at. (The sum of all squares, by BLAS: a fifth of the cost of any comparison.)"""
    if flat.dtype.kind != "f":
        return True
    with np.errstate(all="ignore"):
        numbers = (flat if flat.dtype.itemsize > 2 else flat.astype(np.float32)).reshape(-1)
        return bool(np.isfinite(np.dot(numbers, numbers)))


def row_prints(flat: Array) -> Array:
    """A key for each row. Whoever compares them scatters them first, many at once."""
    rows, width = flat.shape
    room = width * flat.dtype.itemsize
    words = flat.view(np.int64) if not room % 8 and flat.flags.c_contiguous and flat.flags.aligned else None
    with np.errstate(all="ignore"):
        if words is not None and words.shape[1] <= WORDS:
            return np.asarray(np.einsum("ij,j->i", words.view(np.uint64), _FACTORS[: room // 8]))
        if width <= COLUMNS:
            return row_keys(np.ascontiguousarray(flat))
        step = width // SPOTS
        keys = row_keys(flat[:, : SPOTS * step].reshape(rows, SPOTS, step)[:, :, : COLUMNS // SPOTS].reshape(rows, COLUMNS))
        return np.asarray(keys + (_sums(words) if words is not None else _squares(flat)))


def _sums(words: Array) -> Array:
    """Exact, whatever the order. (Torch adds whole numbers twice as fast as numpy.)"""
    return torch.from_numpy(words).sum(1).numpy().view(np.uint64) if words.flags.writeable else words.sum(1).view(np.uint64)


def _squares(flat: Array) -> Array:
    """Rows whose bytes are no whole number of words."""
    if flat.dtype.kind != "f":
        return flat.sum(1, dtype=np.int64).view(np.uint64)
    wide = flat if flat.dtype.itemsize > 2 else flat.astype(np.float32)
    squares = np.einsum("ij,ij->i", wide, wide)
    return squares.view(np.uint32 if squares.dtype.itemsize == 4 else np.uint64).astype(np.uint64)
