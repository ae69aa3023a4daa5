"""Boxes: names and values one below the other, a box for each moment, as Stable Baselines and rich draw them.

| rollout/        |      |
|    ep_rew_mean  | 1.43 |
| train/          |      |
|    loss         | 0.02 |

A name without a value opens a section, and its name goes before those below it.
"""

from __future__ import annotations

import re

from sickbay.record.foreign.json_rows import parse
from sickbay.record.foreign.names import meaning
from sickbay.record.foreign.patterns import ANSI, EPOCH
from sickbay.record.foreign.sheet import Sheet
from sickbay.record.foreign.source import Source

FORMAT = "boxes"
ROW = re.compile(r"^\s{0,9}[|│┃](\s{1,9})([A-Za-z][^|│┃]{0,80}?)\s{0,80}[|│┃]\s{0,80}([-+.\w]{0,40})\s{0,80}[|│┃]\s{0,9}$")
FEWEST = 3
TOLD = frozenset({"loss", "reward", "accuracy"})


def matches(source: Source) -> bool:
    """Several boxes, with something of a curve in them; one box is a summary."""
    rows = [ROW.match(line) for line in ANSI.sub("", source.text).split("\n")]
    boxes = sum(row is not None and before is None for row, before in zip(rows[1:], rows, strict=False))
    return boxes >= FEWEST and any(row and row[3] and meaning(row[2]).kind in TOLD for row in rows)


def read(source: Source) -> Sheet:
    sheet = Sheet(FORMAT)
    cells: dict[str, float] = {}
    section, epoch = "", None
    for line in source.lines():
        line = ANSI.sub("", line)[:500]
        row = ROW.match(line)
        if row is None:
            _close(sheet, cells, epoch)
            cells, section = {}, ""
            if found := EPOCH.search(line):
                epoch = parse(found[1])
            continue
        value = parse(row[3])
        if value is None:
            section = row[2] if row[2].endswith("/") else ""
        else:
            cells[(section if len(row[1]) > 1 else "") + row[2]] = value
    _close(sheet, cells, epoch)
    return sheet


def _close(sheet: Sheet, cells: dict[str, float], epoch: float | None) -> None:
    if cells:
        sheet.row({"epoch": epoch} | cells if epoch is not None else cells)
