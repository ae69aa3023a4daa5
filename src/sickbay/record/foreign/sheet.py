"""The one noun between all log formats and a record: named columns of numbers over the rows of a log.

A row is whatever a tool writes at once: a line, a JSON object, a row of a table. Rows are numbered in the order of the file,
and a column keeps the numbers of the rows in which it has a value, so that a table full of holes costs nothing.

Memory is bounded. When a sheet outgrows its budget its fullest columns are thinned to every other row; highest and
non-finite values of each stretch are kept, because they are what a diagnosis is about.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

MOST_CELLS = 6_000_000
"""Of 16 bytes each: about 100 MB."""
MOST_COLUMNS = 5_000
STRETCH = 64
"""Of this many neighbouring values the highest one survives thinning."""


class Column:
    """The values of one name, with the numbers of their rows (increasing)."""

    __slots__ = ("rows", "values")

    def __init__(self) -> None:
        self.rows = array("q")
        self.values = array("d")

    def __len__(self) -> int:
        return len(self.rows)

    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Copies: a view would forbid the arrays to grow."""
        return np.array(self.rows, np.int64), np.array(self.values, np.float64)

    def extend(self, rows: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        self.rows.frombytes(np.ascontiguousarray(rows, np.int64).tobytes())
        self.values.frombytes(np.ascontiguousarray(values, np.float64).tobytes())

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        rows, values = self.arrays()
        self.rows, self.values = array("q", rows[chosen].tobytes()), array("d", values[chosen].tobytes())


@dataclass
class Sheet:
    """Columns that grow while a log is read."""

    format: str
    columns: dict[str, Column] = field(default_factory=dict)
    phases: dict[str, str] = field(default_factory=dict)
    """"train" or "eval" for columns whose own name does not say it, as far as the format does."""
    notes: dict[str, None] = field(default_factory=dict)
    """Sentences about what was odd, each once, in order."""
    count: int = 0
    """Number of rows."""
    cells: int = 0
    thinned: bool = False

    def row(self, cells: Mapping[str, float]) -> None:
        """Add one row."""
        number, columns = self.count, self.columns
        for name, value in cells.items():
            column = columns.get(name)
            if column is None and (column := self._new(name)) is None:
                continue
            column.rows.append(number)
            column.values.append(value)
        self.count += 1
        self.cells += len(cells)
        if self.cells > MOST_CELLS:
            self._thin()

    def block(self, columns: Mapping[str, tuple[NDArray[np.int64], NDArray[np.float64]]], rows: int) -> None:
        """Add many rows at once: for each name the rows (from 0 in this block) and their values."""
        for name, (places, values) in columns.items():
            column = self.columns.get(name) or self._new(name)
            if column is not None:
                column.extend(self.count + places, values)
                self.cells += len(places)
        self.count += rows
        if self.cells > MOST_CELLS:
            self._thin()

    def note(self, sentence: str) -> None:
        self.notes[sentence] = None

    def _new(self, name: str) -> Column | None:
        if len(self.columns) >= MOST_COLUMNS:
            self.note(f"only the first {MOST_COLUMNS:,} columns were read")
            return None
        self.columns[name] = Column()
        return self.columns[name]

    def _thin(self) -> None:
        """Bring the sheet to three quarters of its budget by halving the fullest columns."""
        self.thinned = True
        while self.cells > 0.75 * MOST_CELLS:
            full = max(len(c) for c in self.columns.values())
            for column in self.columns.values():
                if len(column) > full // 2:
                    before = len(column)
                    column.keep(half(*column.arrays()))
                    self.cells -= before - len(column)


def half(rows: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Every other value by its row's place in the file (the same rows in all columns), the highest and the first non-finite of each stretch."""
    spacing = max(1, int((rows[-1] - rows[0]) // max(1, len(rows) - 1)))
    chosen = np.asarray((rows // spacing) % 2 == 0)
    whole = len(values) // STRETCH * STRETCH
    with np.errstate(invalid="ignore"):
        highest = np.argmax(np.where(np.isfinite(values[:whole]), values[:whole], np.inf).reshape(-1, STRETCH), axis=1)
    chosen[np.arange(len(highest)) * STRETCH + highest] = True
    if np.count_nonzero(chosen) > 0.75 * len(chosen):  # rows that stand unevenly
        chosen[:] = False
        chosen[::2] = True
    return chosen
