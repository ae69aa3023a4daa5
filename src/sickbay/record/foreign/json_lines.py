"""One JSON object per line: DETR, MAE and timm `log.txt`, mmcv and mmengine, detectron2 `metrics.json`, LLaMA-Factory `trainer_log.jsonl`.

Objects without numbers of a curve (a configuration, the environment, a leading `{}`) are rows without values. Where an object says its
"mode", that is the phase of all its names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from sickbay.record.foreign.json_columns import Gatherer
from sickbay.record.foreign.json_rows import flat, loads, number
from sickbay.record.foreign.names import meaning
from sickbay.record.foreign.sheet import Sheet
from sickbay.record.foreign.source import Source

FORMAT = "JSON lines"
SAMPLE = 40
STRICT = msgspec.json.Decoder()
"""Reads what is plain JSON five times as fast as the standard library does; NaN and text before an object are left to that."""
REFUSED = (msgspec.MsgspecError, ValueError, RecursionError)


def matches(source: Source) -> bool:
    """Several of the first lines are whole objects; a single line may as well be a document of lists, and a few that tell of no loss the
    configuration that a text begins with."""
    lines = [x for x in source.text.split("\n") if x.strip()]
    read = [loads(x) for x in lines[:SAMPLE] if x.lstrip()[:1] == "{" and x.rstrip()[-1:] == "}"]
    whole = [item for item in read if isinstance(item, dict)]
    if len(lines) == 1:
        item = loads(lines[0])
        return isinstance(item, dict) and _is_row(item)
    if len(whole) < min(2, len(lines) - 1):
        return False
    told = any(meaning(name).kind in ("loss", "accuracy", "metric") for item in whole for name, _ in flat(item))
    return told or 2 * len(whole) >= len(lines[:SAMPLE])


def _is_row(item: dict[str, Any]) -> bool:
    """Whether the only object of a file is one row: it has a loss, and no curve of one (a history to which the result of a test was added)."""
    losses = [v for k, v in item.items() if meaning(k).kind == "loss"]
    return any(number(v) is not None for v in losses) and not any(isinstance(v, list) and len(v) > 1 for v in losses)


def read(source: Source) -> Sheet:
    sheet = Sheet(FORMAT)
    gatherer = Gatherer()
    broken = 0
    for block in source.blocks():
        found = list(_objects(block))
        items = [item for item in found if isinstance(item, dict)]
        broken += len(found) - len(items)
        sheet.block(gatherer.columns(items), len(items))
    if broken:
        sheet.note(f"{broken} line{'s' if broken > 1 else ''} could not be read as JSON (the last one of a log may be half-written)")
    sheet.phases |= dict.fromkeys(_measured_apart(sheet), "eval")
    return sheet


def _measured_apart(sheet: Sheet) -> Iterator[str]:
    """An object is what a program knows at one time: an accuracy that never stands beside the training loss was measured at another, on validation data."""
    told = {name: meaning(name) for name in sheet.columns}
    losses = [sheet.columns[name].arrays()[0] for name, m in told.items() if m.kind == "loss" and m.phase != "eval"]
    for name, m in told.items() if losses else ():
        if m.kind in ("accuracy", "metric") and not m.phase and not any(np.isin(rows, sheet.columns[name].arrays()[0]).any() for rows in losses):
            yield name


def _objects(block: str) -> Iterator[Any]:
    """What the lines hold, all at once where they are strict JSON; something else than an object for a line that cannot be read."""
    try:
        yield from STRICT.decode_lines(block)
    except REFUSED:
        for line in block.split("\n"):
            if (start := line.find("{")) >= 0:
                yield _object(line[start:])


def _object(text: str) -> Any:
    try:
        return STRICT.decode(text)
    except REFUSED:
        return loads(text)
