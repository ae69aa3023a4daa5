"""One tensor of the batches over a whole pass: types, shapes, ranges, what is not finite, what never varies.

Every number is looked at once, by a sum of squares: that is not finite if one of them isn't, and costs less than any comparison. The dearer questions (ranges, mean and
spread of each feature) are asked of the first batches, and then of one in some.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import torch

from sickbay.exams.scan.prints import all_finite, row_prints, wide, wide_prints
from sickbay.facts.data import InputScale
from sickbay.facts.scan import BadRow, TensorSeen
from sickbay.observe.examples.rows import TABLE, kind_of
from sickbay.observe.input_scale import InputScale as ScaleWatch
from sickbay.observe.numbers import Array, blurred

MOST_BAD, MOST_BAD_COLUMNS = 1000, 8
MOST_SHAPES = 64
SELDOM = 0.02
"""Share of the batches below which a shape is an odd one."""
MOST_COLUMNS = 1024
"""Of a table, whose ranges are followed one by one."""
CLOSELY, EVERY = 64, 16
"""Of large tensors and of whole numbers, ranges are taken from the first batches, and then from one in so many."""


class TensorBook:
    """Arrays are given as rows (samples first); `batches` tells where each batch of them ends."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.kind = ""
        self.dtypes: Counter[str] = Counter()
        self.shapes: Counter[tuple[int, ...]] = Counter()
        self.rows = self.seen = 0
        self.scale = ScaleWatch()
        self.low, self.high = np.inf, -np.inf
        self.nan = self.infinite = self.bad_rows = 0
        self.only_zero_else = True
        self.bad_batches: set[int] = set()
        self.bad: list[BadRow] = []
        self.bad_columns: set[int] = set()
        self.still: Array | None = None
        """Columns of a table that have not varied yet,"""
        self.first: Array = np.zeros(0)
        """...and what they hold."""

    def meet(self, x: torch.Tensor, batches: int, rows: int) -> None:
        """The type and shape of some batches, by one of them."""
        if not self.kind and (x.numel() or x.dim() > 2):
            self.kind = kind_of([x]) if x.dim() > 1 else "numbers"
        self.dtypes[str(x.dtype).removeprefix("torch.")] += batches
        shape = tuple(x.shape[1:])
        if shape in self.shapes or len(self.shapes) < MOST_SHAPES:
            self.shapes[shape] += batches
        self.rows += rows

    def look(self, rows: Array, batches: Array, indices: Array | None, *, small: bool, first: int = 0) -> Array:
        """The numbers of one or more batches; `batches` has the batch of each row, `indices` the data set's; the first row is the batch's row `first`. Returns the rows' keys."""
        flat = rows.reshape(len(rows), -1)
        if not flat.size:
            return np.zeros(len(flat), np.uint64)
        finite = all_finite(flat)
        if not finite:
            self._search(flat, batches, indices, first)
        if self.kind == TABLE and small and flat.shape[1] <= MOST_COLUMNS:
            self._columns(flat)
        self._measure(flat, finite)
        return row_prints(flat)

    def look_each(self, held: list[torch.Tensor], batches: Array, indices: Array | None) -> Array:
        """As `look`, for batches of one shape that are too large to be put together."""
        together = wide(held[0])
        keys, fine = wide_prints(held) if together else (np.zeros(0, np.uint64), np.ones(len(batches), bool))
        others, at = [], 0
        for x in held:
            part = slice(at, at + len(x))
            where = batches[part], indices[part] if indices is not None else None
            at = part.stop
            if not together:
                others.append(self.look(x.numpy(), *where, small=False))
                continue
            finite = bool(fine[part].all())
            if not finite:
                self._search(x.numpy().reshape(len(x), -1), *where, 0)
            self._measure(x.numpy().reshape(len(x), -1), finite)
        return keys if together else np.concatenate(others)

    def _measure(self, flat: Array, finite: bool) -> None:
        self.seen += 1
        if self.scale.batches < 8 and flat.dtype.kind == "f":
            self.scale.add(torch.from_numpy(flat))
        if self.seen <= CLOSELY or self.seen % EVERY == 0:
            self._range(flat, finite)

    def _range(self, flat: Array, finite: bool) -> None:
        if flat.dtype.kind == "b":
            self.low, self.high = 0.0, 1.0
            return
        fine = flat if finite else flat[np.isfinite(flat)]
        if fine.size:
            self.low, self.high = min(self.low, float(fine.min())), max(self.high, float(fine.max()))

    def _columns(self, flat: Array) -> None:
        """Columns that never vary: only those that have not yet are looked at. (NaN is not equal to itself.)"""
        if self.still is None:
            self.still, self.first = np.arange(flat.shape[1]), flat[0].copy()
        if len(self.still) and self.still[-1] < flat.shape[1]:
            part = flat[:, self.still] if len(self.still) < flat.shape[1] else flat
            missing = np.isnan(self.first) if flat.dtype.kind == "f" else np.zeros(len(self.first), bool)
            same = (part == self.first).all(0) | (missing & (part != part).all(0))
            self.still, self.first = self.still[same], self.first[same]

    def _search(self, flat: Array, batches: Array, indices: Array | None, first: int) -> None:
        bad = ~np.isfinite(flat)
        rows = np.flatnonzero(bad.any(1))
        if not len(rows):
            return  # large, but finite
        nans = int(np.isnan(flat).sum())
        self.nan += nans
        self.infinite += int(bad.sum()) - nans
        self.only_zero_else &= not nans and not flat[~bad].any()
        self.bad_rows += len(rows)
        self.bad_batches.update(batches[rows].tolist())
        if len(self.bad_columns) < MOST_COLUMNS:
            self.bad_columns.update(np.flatnonzero(bad.any(0))[:MOST_COLUMNS].tolist())
        for row in rows[: MOST_BAD - len(self.bad)].tolist():
            start = int(np.searchsorted(batches, batches[row]))
            index = int(indices[row]) if indices is not None else None
            columns = tuple(np.flatnonzero(bad[row])[:MOST_BAD_COLUMNS].tolist())
            self.bad.append(BadRow(batch=int(batches[row]), row=first + row - start, index=index, columns=columns))

    def fact(self, role: str) -> TensorSeen:
        usual = self.shapes.most_common(1)[0][0] if self.shapes else ()
        seldom = [s for s, n in self.shapes.items() if n < SELDOM * self.shapes.total()]
        still = self.still if self.still is not None and self.rows > 1 and len(self.shapes) == 1 else np.zeros(0, int)
        never = self.first != self.first if len(still) else np.zeros(0, bool)
        constant, missing = still[~never], still[never]
        scale: InputScale | None = self.scale.fact()
        known = np.isfinite(self.low)
        return TensorSeen(
            name=self.name,
            role=role,
            kind=self.kind,
            dtype=self.dtypes.most_common(1)[0][0] if self.dtypes else "",
            dtypes=len(self.dtypes),
            shape=usual,
            shapes=len(self.shapes),
            odd_shapes=tuple(seldom[:8]),
            rows=self.rows,
            scale=scale,
            minimum=blurred(self.low) if known else 0.0,
            maximum=blurred(self.high) if known else 0.0,
            nan=self.nan,
            infinite=self.infinite,
            only_zero_else=self.only_zero_else and self.infinite > 0,
            bad_rows=self.bad_rows,
            bad_batches=len(self.bad_batches),
            bad=tuple(self.bad),
            bad_columns=tuple(sorted(self.bad_columns)),
            columns=int(np.prod(usual)) if usual else 1,
            constant=tuple(constant.tolist()),
            missing=tuple(missing.tolist()),
        )
