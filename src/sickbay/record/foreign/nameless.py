"""Tables of numbers without a line of names: `0,2.31`, `1 2.10 2.15`, what `np.savetxt` writes.

What a column is can only be told by its numbers: one that counts up is the step; the first other one is the loss (or, if it rises and stays
below 1 or 100, an accuracy); a later one that begins at about the same height is the validation loss. A note says so, and --map overrides.

Tables whose names mean nothing (`x1,x2`) are read as they are, for --map; of two columns of which the first counts the other one is the loss.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sickbay.record.foreign.json_rows import parse
from sickbay.record.foreign.sheet import Sheet
from sickbay.record.foreign.source import Source
from sickbay.record.foreign.tables import Header, Reader, split

FORMAT = "table without names"
SEPARATORS = (",", ";", "\t", " ")
FEWEST, LOOKED_AT, WIDEST = 4, 50, 8
ALIKE = 2.5
"""Losses on training and validation data begin within this factor of each other."""
PART = 10
RARELY = 0.1
"""Of the rows: a run of fewer than ten values is hardly ever resumed again and again."""

Values = NDArray[np.float64]


def matches(source: Source) -> bool:
    return _separator(source.text) is not None


def read(source: Source) -> Sheet:
    sheet = Sheet(FORMAT)
    separator = _separator(source.text) or " "
    width = len(_numbers(next(line for line in source.text.split("\n") if line.strip()), separator) or ())
    _fill(sheet, source, Header(tuple(f"column {j + 1}" for j in range(width)), separator, -1))
    _name(sheet, "the table has no names")
    return sheet


def read_unknown(source: Source) -> Sheet:
    """A table with names of which none is known; without columns if it is no table."""
    sheet = Sheet("CSV table")
    head = source.text.split("\n", 2)
    for separator in SEPARATORS[:3] if len(head) > 1 else ():
        names, cells = split(head[0], separator), split(head[1], separator)
        if (
            2 <= len(names) == len(cells) == len(set(names))
            and all(names)
            and not any(map(parse, names))
            and any(parse(c) is not None for c in cells)
        ):
            _fill(sheet, source, Header(tuple(names), separator, 0))
            if len(sheet.columns) == 2 == len(names) and _counts(next(iter(sheet.columns.values())).arrays()[1]):
                _name(sheet, "the names of the table mean nothing to sickbay")
            break
    return sheet


def _fill(sheet: Sheet, source: Source, header: Header) -> None:
    reader = Reader(sheet, header)
    for k, block in enumerate(source.blocks()):
        lines = block.split("\n")[header.line + 1 if k == 0 else 0 :]
        if not reader.quick("\n".join(lines)):
            reader.block(lines)


def _name(sheet: Sheet, why: str) -> None:
    named = dict(zip(sheet.columns, _names([c.arrays()[1] for c in sheet.columns.values()]), strict=True))
    sheet.columns = {named[name]: column for name, column in sheet.columns.items()}
    sheet.called = {name: column for column, name in named.items() if column != name}
    taken = ", ".join(f"{column} is the {name}" for column, name in named.items() if column != name)
    sheet.note(f"{why}: by its numbers {taken or 'no column is a loss'}; --map NAME=COLUMN overrides")


def _separator(text: str) -> str | None:
    """The separator with which every line of the beginning is the same number of numbers."""
    lines = [line for line in text.split("\n")[: LOOKED_AT + 1] if line.strip()]
    lines = lines[:-1] if len(text.split("\n")) <= LOOKED_AT + 1 and not text.endswith("\n") and len(lines) > FEWEST else lines  # half-written
    if len(lines) < FEWEST:
        return None
    for separator in SEPARATORS:
        rows = [_numbers(line, separator) for line in lines]
        widths = {len(row) if row is not None else 0 for row in rows}
        if len(widths) == 1 and 1 <= min(widths) <= WIDEST:
            return separator
    return None


def _numbers(line: str, separator: str) -> list[float] | None:
    try:
        return [float(cell) for cell in split(line.strip().rstrip(separator), separator)] or None
    except ValueError:
        return None


def _names(columns: list[Values]) -> list[str]:
    counter = next((j for j, c in enumerate(columns) if len(columns) > 1 and _counts(c)), None)
    names: list[str] = []
    first: Values | None = None
    for j, c in enumerate(columns):
        if j == counter:
            names.append("step")
        elif _is_accuracy(c):
            names.append(next(n for n in ("train accuracy", "val accuracy", f"column {j + 1}") if n not in names))
        elif first is None:
            names.append("train loss")
            first = c
        elif "val loss" not in names and _alike(first, c):
            names.append("val loss")
        else:
            names.append(f"column {j + 1}")
    return names


def _counts(c: Values) -> bool:
    """Whole numbers that count up; where they rarely fall back, training was begun anew or resumed."""
    rises = np.diff(c)
    return bool(np.all(np.isfinite(c)) and np.all(c == np.round(c)) and np.all(rises != 0) and np.sum(rises < 0) <= RARELY * len(c))


def _ends(c: Values) -> tuple[float, float]:
    finite = c[np.isfinite(c)]
    part = max(1, len(finite) // PART)
    return (float(np.median(finite[:part])), float(np.median(finite[-part:]))) if len(finite) else (0.0, 0.0)


def _is_accuracy(c: Values) -> bool:
    """It rises, and is a share or a percentage at most."""
    begin, end = _ends(c)
    low, high = float(np.nanmin(c, initial=0.0)), float(np.nanmax(c, initial=0.0))
    return end > begin and low >= 0 and (high <= 1 or (10 < high <= 100))


def _alike(a: Values, b: Values) -> bool:
    (x, _), (y, _) = _ends(a), _ends(b)
    return 0 < x <= ALIKE * y and 0 < y <= ALIKE * x
