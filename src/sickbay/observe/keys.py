"""Rows of a batch by a key: an exact sum over the bits of a few of their numbers, so that equal rows have equal keys whatever the size of their batch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch

from sickbay.observe.numbers import Array

if TYPE_CHECKING:
    from sickbay.observe.observer import ForwardCall

COLUMNS = 96
_FACTORS = np.random.default_rng(20261116).integers(1, 2**63, COLUMNS, dtype=np.uint64) | np.uint64(1)
SPARSE = 24
"""Numbers other than zero among these: a row with fewer (words counted in a text, one-hot columns) is known by all of its numbers, or different rows would look alike."""
MOST = 2**14
"""...of a long row (a picture that is mostly black) by so many, evenly spaced: these are gone through for each batch."""
_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


class Rows:
    """The rows of what a model is given. Several observers ask for them at the same call: each answer is worked out once."""

    __slots__ = ("_columns", "_keys", "x")

    def __init__(self, x: torch.Tensor) -> None:
        self.x = x
        self._columns: Array | None = None
        self._keys: Array | None = None

    @property
    def columns(self) -> Array:
        if self._columns is None:
            self._columns = some_columns(self.x)
        return self._columns

    @property
    def keys(self) -> Array:
        if self._keys is None:
            self._keys = whole_row_keys(self.x, self.columns)
        return self._keys


def rows_given(call: ForwardCall) -> Rows | None:
    """The rows of the first tensor that a model is given, if there are any and reading them waits for nothing. To be asked while the call begins: later
    the script may have changed them."""
    if call.rows is None:
        x = next((a for a in (*call.args, *call.kwargs.values()) if isinstance(a, torch.Tensor)), None)
        if x is None or not x.is_cpu or x.layout != torch.strided or x.dim() < 2 or not x.numel():
            return None
        call.rows = Rows(x)
    return call.rows


def some_columns(x: torch.Tensor) -> Array:
    """At most COLUMNS evenly spread numbers of each row."""
    if not x.numel():  # a mask that leaves nothing of a batch
        return np.zeros((len(x), 0), np.float32)
    flat = x.detach().reshape(len(x), -1)
    step = -(-flat.shape[1] // COLUMNS)
    values = flat[:, ::step]
    if values.dtype == torch.bfloat16:
        values = values.float()
    return np.ascontiguousarray(values.cpu().numpy())


def whole_row_keys(x: torch.Tensor, columns: Array | None = None) -> Array:
    """A key for each row; `columns` are its `some_columns` where they are known already."""
    columns = some_columns(x) if columns is None else columns
    keys = row_keys(columns)
    numbers, width = math.prod(x.shape[1:]), columns.shape[1]
    if numbers <= width or np.count_nonzero(columns) > columns.size - (width - SPARSE):  # known whole; too few zeros for a thin row
        return keys
    thin = np.flatnonzero(np.count_nonzero(columns, axis=1) < SPARSE)
    if len(thin):
        rows = x.detach().reshape(len(x), numbers)[torch.from_numpy(thin).to(x.device), :: -(-numbers // MOST)]
        keys[thin] += _whole(rows.float() if rows.dtype == torch.bfloat16 else rows)
    return keys


def _whole(rows: torch.Tensor) -> Array:
    """The same over all numbers of each row, each with a factor of its place."""
    values = np.ascontiguousarray(rows.cpu().numpy())
    if values.dtype.kind not in "fiu":
        values = values.astype(np.uint8)
    bits = values.view(_UNSIGNED[values.dtype.itemsize]).astype(np.uint64)
    return np.asarray(np.einsum("ij,j->i", bits, scattered(np.arange(bits.shape[1], dtype=np.uint64))))


def row_keys(columns: Array) -> Array:
    """The bits of each row as 64-bit numbers, times a factor each. (A sum of products in one call: 20 times as fast as one after the other.)"""
    if columns.dtype.kind not in "fiu":
        columns = columns.astype(np.uint8)
    if columns.flags.c_contiguous and columns.shape[1] and not columns.shape[1] * columns.dtype.itemsize % 8:
        bits = columns.view(np.uint64)
    else:
        bits = columns.view(_UNSIGNED[columns.dtype.itemsize]).astype(np.uint64)
    return np.asarray(np.einsum("ij,j->i", bits, _FACTORS[: bits.shape[1]]))


def scattered(numbers: Array) -> Array:
    """Each number's own place among all 64-bit numbers, as good as drawn by chance (the mixing function of SplitMix64)."""
    with np.errstate(over="ignore"):
        z = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))
