"""What each row is known by, in one pass over its numbers, which also tells whether all of them are finite."""

from __future__ import annotations

import numpy as np

from sickbay.observe.keys import COLUMNS, row_keys, scattered
from sickbay.observe.numbers import Array

SPOTS = 12
"""Of a wide row, the numbers at so many places, eight in a row, make the key; with the sum of all squares, which no other row has by chance."""


def row_prints(flat: Array) -> tuple[Array, bool]:
    """A key for each row; and False where some number is not finite, or so large that it has to be looked at."""
    some = np.ascontiguousarray(_spots(flat))
    with np.errstate(all="ignore"):
        keys = row_keys(some)
        if flat.dtype.kind != "f":
            return scattered(keys + flat.sum(1, dtype=np.uint64) if flat.dtype.kind == "u" else keys), True
        wide = flat if flat.dtype.itemsize > 2 else flat.astype(np.float32)
        squares = np.einsum("ij,ij->i", wide, wide)
        keys += squares.view(np.uint32 if squares.dtype.itemsize == 4 else np.uint64)
        return scattered(keys), bool(np.isfinite(squares).all())


def _spots(flat: Array) -> Array:
    rows, width = flat.shape
    if width <= COLUMNS:
        return flat
    step = width // SPOTS
    return flat[:, : SPOTS * step].reshape(rows, SPOTS, step)[:, :, : COLUMNS // SPOTS].reshape(rows, COLUMNS)
