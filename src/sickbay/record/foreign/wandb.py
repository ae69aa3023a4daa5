"""Weights & Biases offline runs (`.wandb`): LevelDB's log of blocks around Record messages, of which the history is taken.

file     ":W&B" · 0xBEE1 · version, then blocks of 32 KiB
chunk    checksum (uint32) · length (uint16) · type: 1 whole, 2 first, 3 middle, 4 last
Record   2 history: 1 item (1 key · 2 nested key · 16 value as JSON), many · 2 step (1 number)
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from sickbay.record.foreign import wire
from sickbay.record.foreign.json_rows import flat, loads
from sickbay.record.foreign.sheet import Sheet
from sickbay.record.foreign.source import Source, unreadable

FORMAT = "W&B offline run"
BLOCK = 32768
HEADER = 7
LARGEST = 64 * 2**20
WHOLE, FIRST, MIDDLE, LAST = 1, 2, 3, 4
INTERNAL = frozenset({"_timestamp", "_runtime", "_wandb"})


def matches(source: Source) -> bool:
    return source.head[:4] == b":W&B"


def read(source: Source) -> Sheet:
    sheet = Sheet(FORMAT)
    for record in _records(source, sheet):
        try:
            cells = _history(record)
        except (wire.Broken, UnicodeDecodeError):
            sheet.note("some records are damaged: they were left out")
            continue
        if len(cells) > 1:
            sheet.row(cells)
    return sheet


def _records(source: Source, sheet: Sheet) -> Iterator[bytes]:
    parts: list[bytes] = []
    size = 0
    for kind, data in _chunks(source, sheet):
        if kind in (WHOLE, FIRST):
            parts, size = [], 0
        parts.append(data)
        size += len(data)
        if kind in (WHOLE, LAST) and size <= LARGEST:
            yield b"".join(parts)
        if size > LARGEST:
            parts = []


def _chunks(source: Source, sheet: Sheet) -> Iterator[tuple[int, bytes]]:
    try:
        with source.path.open("rb") as f:
            at = HEADER
            block = f.read(BLOCK)
            while block:
                while at + HEADER <= len(block):
                    _, length, kind = struct.unpack("<IHB", block[at : at + HEADER])
                    at += HEADER
                    if kind == 0 and length == 0:
                        break
                    if at + length > len(block) or not WHOLE <= kind <= LAST:
                        sheet.note("the file ends in the middle of a record, or is damaged: it was read as far as it goes")
                        break
                    yield kind, block[at : at + length]
                    at += length
                block, at = f.read(BLOCK), 0
    except OSError as e:
        raise unreadable(source.path, e) from e


def _history(record: bytes) -> dict[str, float]:
    cells: dict[str, float] = {}
    for number, content in wire.fields(record):
        if number != 2 or not isinstance(content, bytes):
            continue
        for inner, item in wire.fields(content):
            if inner == 1 and isinstance(item, bytes):
                cells.update(_item(item))
            elif inner == 2 and isinstance(item, bytes):
                cells |= dict([("_step", float(v)) for n, v in wire.fields(item) if n == 1 and isinstance(v, int)][-1:])
    return cells


def _item(item: bytes) -> dict[str, float]:
    keys: list[str] = []
    value = ""
    for number, content in wire.fields(item):
        if isinstance(content, bytes) and number in (1, 2):
            keys.append(content.decode("utf-8"))
        elif isinstance(content, bytes) and number == 16:
            value = content.decode("utf-8")
    name = "/".join(keys)
    return {} if not name or name in INTERNAL else dict(flat({name: loads(value)}))
