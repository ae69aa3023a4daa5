"""Curves that a script printed as lists when it was done: `print(history.history)`, `train losses: [2.3, 1.9, ...]`."""

from __future__ import annotations

import re

from sickbay.record.foreign.documents import columns
from sickbay.record.foreign.json_rows import parse
from sickbay.record.foreign.names import meaning
from sickbay.record.foreign.sheet import Sheet
from sickbay.record.foreign.source import Source

FORMAT = "printed lists"
LARGEST = 4 * 2**20
FEWEST = 4
LIST = re.compile(r"(?<![\w./@-])([A-Za-z][\w ./@-]{0,60})[\"')]{0,2}\s{0,9}[:=]\s{0,9}\[([^\[\]]{8,})\]")


def matches(source: Source) -> bool:
    """A list of a loss's values; lines of other kinds may stand around it."""
    return any(meaning(name).kind == "loss" for name in _lists(source.text))


def read(source: Source) -> Sheet:
    sheet = Sheet(FORMAT)
    columns(sheet, dict(_lists(source.whole(LARGEST)).items()))
    return sheet


def _lists(text: str) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for match in LIST.finditer(text):
        numbers = [parse(cell) for cell in match[2].replace("\n", " ").split(",") if cell.strip()]
        if len(numbers) >= FEWEST and None not in numbers:
            found[match[1].strip()] = [n for n in numbers if n is not None]
    return found
