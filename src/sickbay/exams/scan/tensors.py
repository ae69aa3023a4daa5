"""One tensor of the batches over a whole pass: types, shapes, ranges, what is not finite, what never varies.

Every number is looked at once, by a dot product of the rows with themselves: it is not finite if one of them isn't, and costs less than any comparison. The dearer questions (mean
and spread of each feature) are asked of the first batches, and then of one in some.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import torch

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
"""Of large tensors, ranges are taken from the first batches, and then from one in so many."""


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
        self.whole = True
        self.nan = self.infinite = self.bad_rows = 0
        self.only_zero_else = True
        self.bad_batches: set[int] = set()
        self.bad: list[BadRow] = []
        self.bad_columns: set[int] = set()
        self.columns_low: Array = np.zeros(0)
        self.columns_high: Array = np.zeros(0)
        self.columns_rows = 0
        """Rows in which they were followed."""

    def meet(self, x: torch.Tensor) -> None:
        """The type and shape of one batch."""
        if not self.kind:
            self.kind = kind_of([x]) if x.dim() > 1 else "numbers"
        self.dtypes[str(x.dtype).removeprefix("torch.")] += 1
        shape = tuple(x.shape[1:])
        if shape in self.shapes or len(self.shapes) < MOST_SHAPES:
            self.shapes[shape] += 1
        self.rows += len(x) if x.dim() else 1

    def look(self, rows: Array, batches: Array, indices: Array | None, small: bool) -> None:
        """The numbers of one or more batches; `batches` has the batch of each row, `indices` the data set's."""
        flat = rows.reshape(len(rows), -1)
        self.seen += 1
        if not flat.size:
            return
        if flat.dtype.kind == "f" and not _finite(flat):
            self._search(flat, batches, indices)
        if self.scale.batches < 8 and flat.dtype.kind == "f":
            self.scale.add(torch.from_numpy(flat))
        if small or self.seen <= CLOSELY or self.seen % EVERY == 0:
            self._range(flat)

    def _range(self, flat: Array) -> None:
        if flat.dtype.kind == "b":
            self.low, self.high = 0.0, 1.0
            return
        if self.kind == TABLE and flat.shape[1] <= MOST_COLUMNS and len(self.columns_low) in (0, flat.shape[1]):
            low, high = np.fmin.reduce(flat, 0), np.fmax.reduce(flat, 0)
            first = not len(self.columns_low)
            self.columns_low = low if first else np.fmin(self.columns_low, low)
            self.columns_high = high if first else np.fmax(self.columns_high, high)
            self.columns_rows += len(flat)
            self._extremes(low, high)
        else:
            self._extremes(flat, flat)
        if self.whole and self.seen <= CLOSELY and flat.dtype.kind == "f":
            self.whole = bool((flat[:64] == np.round(flat[:64])).all())

    def _extremes(self, low: Array, high: Array) -> None:
        least, most = float(np.fmin.reduce(low, None)), float(np.fmax.reduce(high, None))
        if not np.isfinite(least) or not np.isfinite(most):
            fine = np.concatenate([low[np.isfinite(low)], high[np.isfinite(high)]])
            if not len(fine):
                return
            least, most = float(fine.min()), float(fine.max())
        self.low, self.high = min(self.low, least), max(self.high, most)

    def _search(self, flat: Array, batches: Array, indices: Array | None) -> None:
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
            self.bad.append(BadRow(batch=int(batches[row]), row=row - start, index=index, columns=columns))

    def fact(self, role: str) -> TensorSeen:
        usual = self.shapes.most_common(1)[0][0] if self.shapes else ()
        seldom = [s for s, n in self.shapes.items() if n < SELDOM * self.shapes.total()]
        followed = len(self.columns_low) > 1 and self.columns_rows == self.rows
        constant = np.flatnonzero(self.columns_low == self.columns_high) if followed and self.rows > 1 else np.zeros(0, int)
        missing = np.flatnonzero(np.isnan(self.columns_low)) if followed else np.zeros(0, int)
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
            whole=self.whole,
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


def _finite(flat: Array) -> bool:
    """Whether all numbers are finite; False also for some that are large, which are then looked at one by one."""
    line = flat.reshape(-1)
    with np.errstate(all="ignore"):
        return bool(np.isfinite(np.dot(line, line)))
