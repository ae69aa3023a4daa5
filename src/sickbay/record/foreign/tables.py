"""Tables: Lightning `metrics.csv`, Keras CSVLogger, Ultralytics `results.csv`, timm `summary.csv`, fastai, W&B exports, any CSV with names.

The separator is found, not assumed. Headers may be padded, may come again in the middle (appended runs) and may grow; an
empty cell is no value, "nan" is one. A block of lines is turned column by column, which is what makes large files quick to read.
"""

from __future__ import annotations

import csv
import math
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sickbay.errors import LogError
from sickbay.record.foreign.batches import Columns
from sickbay.record.foreign.choose import networks
from sickbay.record.foreign.decimals import in_table
from sickbay.record.foreign.exports import by_run
from sickbay.record.foreign.json_rows import parse
from sickbay.record.foreign.names import meaning, words
from sickbay.record.foreign.sheet import Sheet
from sickbay.record.foreign.source import Source
from sickbay.record.foreign.tidy import Sorter

FORMAT = "CSV table"
SEPARATORS = (",", ";", "\t", "|", " ")
QUICK = 50
OTHER = 3
PREAMBLE = 60
"""A header is looked for in this many lines; a log may begin with a few lines of something else."""
ODD = 2
"""Lines that are no rows may stand between the header and the first row: a remark, the mark of a merge (`<<<<<<< HEAD`)."""
NAMED_VALUE = re.compile(r"""[A-Za-z_]["']?\s*[:=]\s*[-+]?[\d.]""")
WIDE = re.compile(r"\t|\s{2,}")
EXTREMES = ("__MIN", "__MAX")
RUN_NAMES = frozenset({"name", "run", "run name", "run id", "experiment", "experiment name", "exp name", "trial", "trial id", "trial name"})
LISTED, FEWEST_RUNS = 200, 3
DIGITS = re.compile(r"[-+.\d]+")
KNOWN = frozenset({"step", "epoch", "loss", "accuracy", "lr"})
POINT, COMMA, THOUSANDS = re.compile(r"\d\.\d"), re.compile(r"\d,\d"), re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?$")


@dataclass(frozen=True)
class Header:
    names: tuple[str, ...]
    separator: str
    line: int


def matches(source: Source) -> bool:
    return header(source.text) is not None


def header(text: str) -> Header | None:
    """The line that names the columns, if the lines after it hold as many numbers. One that names something of a curve goes before `Parameter, Value`."""
    lines, plain = text.split("\n")[: PREAMBLE + 2], None
    for i, line in enumerate(lines[:PREAMBLE]):
        after = [x for x in lines[i + 1 :] if x.strip(" |-:\t\r")][: ODD + 1]
        for separator in SEPARATORS:
            below = next((x for x in after if separator in x), "") if separator != " " else next(iter(after), "")
            names, cells = split(line.lstrip("# \t") if line.lstrip().startswith("#") else line, separator), split(below, separator)
            if separator in " \t" and len(wide := WIDE.split(line.strip())) == len(cells):  # "LOSS NER" is one name where two spaces part them
                names = wide
            if len(names) >= 2 and _is_header(names, line) and _fits(names, cells, below):
                if _is_curve(names):
                    return Header(_unique(names), separator, i)
                plain = plain or Header(_unique(names), separator, i)
    return plain


def split(line: str, separator: str) -> list[str]:
    line = line.rstrip("\r\n")
    if separator == " ":
        return line.split()
    if separator == "|":
        line = line.strip().strip("|")
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator), [])]
    except csv.Error:  # a carriage return or a NUL inside
        return [cell.strip() for cell in line.split(separator)]


def _is_header(names: Sequence[str], line: str) -> bool:
    if NAMED_VALUE.search(line) or any(parse(n.replace(",", ".")) is not None for n in names if n):
        return False
    kinds = {meaning(n.split(" - ")[-1]).kind for n in names}
    return _is_curve(names) or (any(n.lower() in ("value", "wall time") for n in names) and "other" in kinds)


def _is_curve(names: Sequence[str]) -> bool:
    return bool(KNOWN & {meaning(n.split(" - ")[-1]).kind for n in names}) or bool(networks(names))


def _fits(names: Sequence[str], cells: Sequence[str], line: str) -> bool:
    if NAMED_VALUE.search(line.split(",")[0]) and "," not in line:
        return False
    numbers = sum(parse(c.replace(",", ".")) is not None for c in cells)
    empty = sum(not c for c in cells)
    return len(cells) >= 2 and abs(len(cells) - len(names)) <= max(1, len(names) // 2) and numbers >= 1 and numbers + empty >= len(cells) / 2


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    seen: dict[str, int] = {}
    out = []
    for i, name in enumerate(names):
        name = name or f"column {i + 1}"
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return tuple(out)


def _runs(text: str, found: Header) -> str | None:
    """The first names of the runs in a table of their results: a column of names has another word in every row (not one
    word with a number, like those of an epoch's files), and nothing counts up from row to row."""
    places = [i for i, name in enumerate(found.names) if " ".join(words(name)) in RUN_NAMES]
    if not places or found.separator == " " or "value" in found.names:
        return None
    lines = text.split("\n", found.line + 1 + LISTED)[found.line + 1 : found.line + 1 + LISTED]
    rows = [cells for x in lines if x.strip() and len(cells := split(x, found.separator)) == len(found.names)]
    if len(rows) < FEWEST_RUNS:
        return None
    for i, name in enumerate(found.names):
        counted = [parse(row[i]) for row in rows] if meaning(name).kind in ("step", "epoch") else [None]
        if all(a is not None and b is not None and a < b for a, b in pairwise([*counted, math.inf])):
            return None
    said = ([row[i] for row in rows] for i in places)
    names = next((x for x in said if len(set(x)) == len(x) and len({DIGITS.sub("", cell) for cell in x} - {""}) > 1), None)
    return ", ".join([*names[:FEWEST_RUNS], "..."]) if names is not None else None


def read(source: Source) -> list[Sheet]:
    found = header(source.text)
    if found is None:
        return []
    if (runs := _runs(source.text, found)) is not None:
        raise LogError(f"{source.path} has one row for each of several runs ({runs}), and no curve of any: give the history of one run")
    sheet = Sheet(FORMAT)
    reader = Reader(sheet, found)
    for k, block in enumerate(source.blocks()):
        if k == 0 or not reader.quick(block):
            lines = block.split("\n")
            reader.block(lines[found.line + 1 :] if k == 0 else lines)
    if reader.broken:
        sheet.note(
            f"{reader.broken} line{'s' if reader.broken > 1 else ''} had another number of cells than the header (the last one may be half-written)"
        )
    return by_run(sheet)


class Reader:
    """Turns blocks of lines into columns, under the header that holds for them."""

    def __init__(self, sheet: Sheet, found: Header) -> None:
        self.sheet = sheet
        self.names = found.names
        self.separator = found.separator
        self.broken = 0
        self.silent: dict[str, int] = {}
        """Columns without any number, with how many blocks they were tried in."""
        self.sorter = Sorter.of(found.names)
        self.comma: bool | None = None
        """Whether a comma stands before decimals (where it does not part the cells); None as long as no number has shown it."""
        self.ended = False
        """Below the header of a table about something else."""

    def block(self, lines: list[str]) -> None:
        lines = [x for x in lines if x]
        if len(lines) >= QUICK and self.quick("\n".join(lines) + "\n"):
            return
        rows = self._rows(lines)
        while rows:
            at = next((i for i in range(len(rows)) if self._begins(rows, i)), None) if self._may_hold_header(rows) else None
            if not self.ended:
                self._columns(rows[:at])
            if at is None:
                return
            self.ended = not self._names_columns(rows[at])
            if self.ended:
                rows = rows[at + 1 :]
                continue
            self.sheet.begins.append(self.sheet.count)
            self.names = _unique([c.strip() for c in rows[at]])
            self.sorter = Sorter.of(self.names)
            self.silent.clear()
            rows = rows[at + 1 :]

    def quick(self, block: str) -> bool:
        """Add a block of lines in which every cell is a number; False (and nothing done) if it is no such block."""
        width = len(self.names)
        if self.separator not in ",;\t" or width < 2 or self.silent:
            return False
        numbers = in_table(block.encode(), self.separator.encode(), width)
        if numbers is None:
            numbers = self._from_string(block, width)
        if numbers is None:
            return False
        rows = np.arange(len(numbers))
        self.sheet.block({n: (rows, numbers[:, j]) for j, n in enumerate(self.names) if not n.endswith(EXTREMES)}, len(numbers))
        return True

    def _from_string(self, block: str, width: int) -> NDArray[np.float64] | None:
        """The same for any numbers, by numpy's own reader."""
        count = block.count("\n")
        if block.count(self.separator) != count * (width - 1) or block.count(self.separator, 0, block.find("\n")) != width - 1 or "\n\n" in block:
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", DeprecationWarning)  # so numpy says that something is no number
                numbers = np.fromstring(block[:-1].replace("\n", self.separator), np.float64, sep=self.separator)
        except (DeprecationWarning, ValueError):
            return None
        return np.asarray(numbers.reshape(count, width)) if len(numbers) == count * width else None

    def _rows(self, lines: list[str]) -> list[list[str]]:
        if self.separator == " ":
            return [cells for x in lines if (cells := self._spaced(x))]
        if self.separator == "|":
            return [cells for x in lines if (cells := split(x, self.separator))]
        try:
            return [row for row in csv.reader(lines, delimiter=self.separator) if row]
        except csv.Error:  # a NUL, a cell without end
            return [x.split(self.separator) for x in lines if x.strip()]

    def _spaced(self, line: str) -> list[str]:
        """Names may be of two words where two spaces part them; numbers are not."""
        cells = split(line, " ")
        wide = WIDE.split(line.strip()) if len(cells) > len(self.names) and cells[0][:1].isalpha() else []
        return wide if len(wide) == len(self.names) else cells

    def _may_hold_header(self, rows: list[list[str]]) -> bool:
        """Cheap: some cell of the first column that always holds a number does not."""
        for row in rows:
            cell = row[0]
            if cell and (cell[0].isalpha() or cell[0] in " _\"'#") and parse(cell) is None:
                return True
        return False

    def _names_columns(self, row: list[str]) -> bool:
        cells = [c.strip() for c in row]
        return len(cells) >= 2 and (
            tuple(cells) == self.names
            or (
                cells[0] != ""
                and _is_header(cells, self.separator.join(cells))
                and (len(set(cells) & set(self.names)) >= 2 or self._of_a_curve(cells))
            )
        )

    def _of_a_curve(self, cells: list[str]) -> bool:
        """As many names as there are columns, all of them of a curve: other words for the same (`train loss` after `train_loss`)."""
        return len(cells) == len(self.names) and all(meaning(c).kind in KNOWN for c in cells)

    def _begins(self, rows: list[list[str]], i: int) -> bool:
        """Whether this row heads a table: one like this, or (in text that is parted by spaces) one of other things, such as the precision of each class."""
        if self._names_columns(rows[i]):
            return True
        if self.separator != " " or i + 1 >= len(rows) or len(rows[i]) < OTHER or any(parse(c) is not None for c in rows[i]):
            return False
        below = rows[i + 1]
        return len(below) in (len(rows[i]), len(rows[i]) + 1) and sum(parse(c) is not None for c in below) >= len(rows[i])

    def _columns(self, rows: list[list[str]]) -> None:
        width = len(self.names)
        if any(len(row) != width for row in rows):
            rows = [fixed for row in rows if (fixed := self._fitted(row, width)) is not None]
        if not rows:
            return
        if self.comma is None and self.separator != ",":  # "0,95" in a table without any "0.95"
            all_cells = [cell for row in rows for cell in row]
            pointed, with_comma = any(map(POINT.search, all_cells)), any(map(COMMA.search, all_cells))
            self.comma = with_comma and not pointed if pointed or with_comma else None
        columns: Columns = {}
        for name, cells in zip(self.names, zip(*rows, strict=True), strict=True):
            if self.silent.get(name, 0) >= 2 or name.endswith(EXTREMES):
                continue
            places, values = self._numbers(cells)
            if values:
                columns[name] = (np.array(places, np.int64), np.array(values))
            elif name not in self.sheet.columns:
                self.silent[name] = self.silent.get(name, 0) + 1
        self.sheet.block(self.sorter.sorted(columns, rows) if self.sorter is not None else columns, len(rows))

    def _plain(self, cell: str) -> str:
        """A number with its commas taken away, or made points."""
        return cell.replace(",", ".") if self.comma else cell.replace(",", "") if THOUSANDS.match(cell) else cell

    def _fitted(self, row: list[str], width: int) -> list[str] | None:
        """A row with too few cells is filled up, one with a few too many (a trailing separator) is cut."""
        if len(row) == 1 and width > 2:  # text around a table, or a line of which hardly anything was written
            return None
        if len(row) != width and not (len(row) == width + 1 and not row[-1].strip()):
            self.broken += 1
        # The last cell of a half-written row may itself be half a number.
        return row[:width] if len(row) >= width else [*row[:-1], *[""] * (width - len(row) + 1)]

    def _numbers(self, cells: Sequence[str]) -> tuple[Sequence[int] | range, list[float]]:
        try:
            return range(len(cells)), list(map(float, cells))
        except ValueError:
            pass
        places, values = [], []
        for i, cell in enumerate(cells):
            if cell and (value := parse(self._plain(cell) if "," in cell else cell)) is not None:
                places.append(i)
                values.append(value)
        return places, values
