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
    width = flat.shape[1]
    room = width * flat.dtype.itemsize
    if not room % 8 and room <= 8 * WORDS and flat.flags.c_contiguous:
        with np.errstate(all="ignore"):
            return np.asarray(np.einsum("ij,j->i", flat.view(np.uint64), _FACTORS[: room // 8]))
    if width <= COLUMNS:
        return row_keys(np.ascontiguousarray(flat))
    return wide_prints([torch.from_numpy(flat)])[0]


def wide(x: torch.Tensor) -> bool:
    """Whether only some of each row's numbers have a factor."""
    return x.numel() * x.element_size() > 8 * WORDS * len(x) and x.numel() > COLUMNS * len(x)


def wide_prints(held: list[torch.Tensor]) -> tuple[Array, Array]:
    """Keys of the wide rows of some tensors, and which of the rows are finite: each number is read once, by the sum over its row."""
    read = [(_sums(x), _spots(x)) for x in (t.reshape(len(t), -1) for t in held)]
    sums: Array = torch.cat([a for a, _ in read]).numpy()
    spots: Array = torch.cat([b for _, b in read]).reshape(-1, COLUMNS).numpy()
    finite = np.isfinite(sums) if sums.dtype.kind == "f" else np.ones(len(sums), bool)
    bits = sums.view(np.uint32).astype(np.uint64) if sums.dtype.itemsize == 4 else sums.view(np.uint64)
    with np.errstate(over="ignore"):
        return row_keys(spots) + bits, finite


def _sums(x: torch.Tensor) -> torch.Tensor:
    """One number per row, the same in whatever batch it stands. (Several threads may share the sum over a single row: so there are two.)"""
    if x.is_floating_point():
        return x.sum(1, dtype=torch.float32 if x.element_size() == 2 else None) if len(x) > 1 else _sums(torch.cat([x, x]))[:1]
    room = x.shape[1] * x.element_size()
    words = not room % 8 and x.is_contiguous() and not x.storage_offset() * x.element_size() % 8
    return x.view(torch.int64).sum(1) if words else x.sum(1, dtype=torch.int64)


def _spots(x: torch.Tensor) -> torch.Tensor:
    step = x.shape[1] // SPOTS
    return x.as_strided((len(x), SPOTS, COLUMNS // SPOTS), (x.stride(0), step * x.stride(1), x.stride(1))).clone(
        memory_format=torch.contiguous_format
    )
