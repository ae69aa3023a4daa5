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
    """The values of one name, with the numbers of their rows (increasing). Single cells are appended, blocks are kept as they come."""

    __slots__ = ("_blocks", "_length", "_rows", "_values")

    def __init__(self) -> None:
        self._rows = array("q")
        self._values = array("d")
        self._blocks: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def append(self, row: int, value: float) -> None:
        self._rows.append(row)
        self._values.append(value)
        self._length += 1

    def extend(self, rows: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        """Rows and values are kept, not copied: columns of a full table share their rows."""
        self._gather()
        self._blocks.append((rows, values))
        self._length += len(rows)

    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """All rows and values. They are the column's own: not to be changed."""
        self._gather()
        if len(self._blocks) > 1:
            self._blocks = [(np.concatenate([r for r, _ in self._blocks]), np.concatenate([v for _, v in self._blocks]))]
        return self._blocks[0] if self._blocks else (np.empty(0, np.int64), np.empty(0))

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        rows, values = self.arrays()
        self._blocks = [(rows[chosen], values[chosen])]
        self._length = len(self._blocks[0][0])

    def copy(self) -> Column:
        other = Column()
        if len(self):
            other.extend(*self.arrays())
        return other

    def _gather(self) -> None:
        """Make a block of the cells that were appended."""
        if self._rows:
            self._blocks.append((np.array(self._rows, np.int64), np.array(self._values, np.float64)))
            self._rows, self._values = array("q"), array("d")


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
    called: dict[str, str] = field(default_factory=dict)
    """What a column was called in the log, where it was given a name that says what its numbers are."""
    begins: list[int] = field(default_factory=list)
    """Rows before which the names of the columns stood once more: where nothing is numbered, a run begins there."""
    ends: list[int] = field(default_factory=list)
    """Rows before which the log says that training is done: a training loss after it is another run's."""

    def row(self, cells: Mapping[str, float]) -> None:
        """Add one row."""
        number, columns = self.count, self.columns
        for name, value in cells.items():
            column = columns.get(name)
            if column is None and (column := self._new(name)) is None:
                continue
            column.append(number, value)
        self.count += 1
        self.cells += len(cells)
        if self.cells > MOST_CELLS:
            self._thin()

    def block(self, columns: Mapping[str, tuple[NDArray[np.int64], NDArray[np.float64]]], rows: int) -> None:
        """Add many rows at once: for each name the rows (from 0 in this block) and their values."""
        shared: dict[int, NDArray[np.int64]] = {}
        for name, (places, values) in columns.items():
            column = self.columns.get(name)
            if column is None and (column := self._new(name)) is None:
                continue
            if id(places) not in shared:
                shared[id(places)] = self.count + places
            column.extend(shared[id(places)], np.ascontiguousarray(values, np.float64))
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
