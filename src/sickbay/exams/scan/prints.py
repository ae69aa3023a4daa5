"""What each row is known by, in one pass over its numbers, which also tells whether all of them are finite."""

from __future__ import annotations

import numpy as np

from sickbay.observe.keys import COLUMNS, row_keys, scattered
from sickbay.observe.numbers import Array

WORDS = 512
"""64-bit words up to which all of a row make its key."""
SPOTS = 12
"""Of a wider row, the numbers at so many places do, eight in a row; with the sum of all squares, which no other row has by chance."""
_FACTORS = np.random.default_rng(20261117).integers(1, 2**63, WORDS, dtype=np.uint64) | np.uint64(1)


def row_prints(flat: Array) -> tuple[Array, bool]:
    """A key for each row; and False where some number is not finite, or so large that it has to be looked at."""
    with np.errstate(all="ignore"):
        keys = _keys(flat)
        if flat.dtype.kind != "f":
            return scattered(keys + flat.sum(1, dtype=np.uint64) if flat.dtype.kind == "u" else keys), True
        wide = flat if flat.dtype.itemsize > 2 else flat.astype(np.float32)
        squares = np.einsum("ij,ij->i", wide, wide)
        keys += squares.view(np.uint32 if squares.dtype.itemsize == 4 else np.uint64)
        return scattered(keys), bool(np.isfinite(squares).all())


def _keys(flat: Array) -> Array:
    rows, width = flat.shape
    room = width * flat.dtype.itemsize
    if not room % 8 and room <= 8 * WORDS and flat.flags.c_contiguous:
        return np.asarray(np.einsum("ij,j->i", flat.view(np.uint64), _FACTORS[: room // 8]))
    if width <= COLUMNS:
        return row_keys(np.ascontiguousarray(flat))
    step = width // SPOTS
    return row_keys(flat[:, : SPOTS * step].reshape(rows, SPOTS, step)[:, :, : COLUMNS // SPOTS].reshape(rows, COLUMNS))
