"""What DeepXDE prints: a table whose losses are lists, one number for each equation and condition. The loss is their sum.

Step      Train loss              Test loss               Test metric
0         [1.18e-02, 5.61e-01]    [1.18e-02, 5.61e-01]    []
"""

from __future__ import annotations

import re

from sickbay.record.foreign.json_rows import parse
from sickbay.record.foreign.sheet import Sheet
from sickbay.record.foreign.source import Source

FORMAT = "DeepXDE log"
HEADER = re.compile(r"^\s{0,9}Step\s{1,80}Train loss\s{1,400}Test loss\b", re.MULTILINE)
ROW = re.compile(r"^\s{0,9}(\d{1,12})\s{1,20}\[([^\[\]]{1,2000})\]\s{1,20}\[([^\[\]]{1,2000})\]", re.MULTILINE)


def matches(source: Source) -> bool:
    return HEADER.search(source.text) is not None and ROW.search(source.text) is not None


def read(source: Source) -> Sheet:
    sheet = Sheet(FORMAT)
    for line in source.lines():
        if found := ROW.match(line):
            told = {"train loss": _sum(found[2]), "test loss": _sum(found[3])}
            sheet.row({"step": float(found[1])} | {name: value for name, value in told.items() if value is not None})
    return sheet


def _sum(text: str) -> float | None:
    parts = [parse(part) for part in text.split(",")]
    return sum(p for p in parts if p is not None) if None not in parts else None
