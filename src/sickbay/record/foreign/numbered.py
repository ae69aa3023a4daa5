"""A folder with a file for each epoch: `metrics_epoch_0.json`, `metrics_epoch_1.json`... as AllenNLP writes them. Its files are the rows of one log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from sickbay.record.foreign.json_rows import flat, loads
from sickbay.record.foreign.patterns import EXTREME
from sickbay.record.foreign.sheet import Sheet
from sickbay.record.foreign.source import open_source, unreadable

FORMAT = "JSON files by epoch"
NAME = re.compile(r"(?P<kind>[\w.-]{0,60}?(?P<axis>epoch|step|iter|round))[_-]?(?P<number>\d{1,9})\.json$", re.IGNORECASE)
FEWEST = 2
LARGEST = 2**20
"""Larger files of that name are something else (predictions, a state)."""


def is_run(folder: Path) -> bool:
    return bool(_files(folder))


def read_folder(folder: Path) -> Sheet:
    """One row for each file, in the order of their numbers."""
    sheet = Sheet(FORMAT)
    for axis, number, file in _files(folder):
        row = loads(open_source(file).whole(LARGEST))
        if isinstance(row, dict):
            # "best_validation_loss" is of the whole run, "peak_..." of the machine
            sheet.row({name: value for name, value in flat(row) if not EXTREME & set(name.lower().split("_"))} | {axis: float(number)})
        else:
            sheet.note(f"{file.name} could not be read")
    return sheet


def files(folder: Path) -> list[Path]:
    return [file for _, _, file in _files(folder)]


def _files(folder: Path) -> list[tuple[str, int, Path]]:
    """The files of the kind of which there are most, if there are several."""
    kinds: dict[str, list[tuple[str, int, Path]]] = {}
    try:
        for file, name in _named(folder):
            kinds.setdefault(name["kind"].lower(), []).append((name["axis"].lower(), int(name["number"]), file))
    except OSError as e:
        raise unreadable(folder, e) from e
    most = max(kinds.values(), key=len, default=[])
    return sorted(most, key=lambda found: found[1]) if len(most) >= FEWEST else []


def _named(folder: Path) -> Iterator[tuple[Path, re.Match[str]]]:
    for file in folder.iterdir():
        if (name := NAME.match(file.name)) is not None and file.is_file() and 0 < file.stat().st_size <= LARGEST:
            yield file, name
