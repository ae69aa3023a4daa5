"""TensorBoard event files: TFRecord frames around Event messages, of which only scalars are taken.

    frame    length (uint64) · checksum of the length · data · checksum of the data      little-endian
    Event    1 wall_time (double) · 2 step (int64) · 5 summary
    summary  1 value, many: 1 tag · 2 simple_value (float) · 8 tensor
    tensor   1 dtype · 4 content · 5 float_val · 6 double_val · 7 int_val

A last frame that is cut off is normal: the writer was still writing, or was killed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sickbay.record.foreign import wire
from sickbay.record.foreign.progress import tell
from sickbay.record.foreign.sheet import Column, Sheet
from sickbay.record.foreign.source import Source, open_source, unreadable

FORMAT = "TensorBoard events"
TOLD_EVERY = 10_000
LARGEST_FRAME = 64 * 2**20
"""Pictures and graphs are larger than scalars; beyond this a length is damage."""
MOST_FILES = 500
CODES = {1: ("f", 4), 2: ("d", 8), 3: ("i", 4), 9: ("q", 8)}
"""TensorFlow's data types of tensors that can hold a scalar."""
_CRC: list[int] = []


def crc32c(data: bytes) -> int:
    """Castagnoli's checksum."""
    if not _CRC:
        for n in range(256):
            for _ in range(8):
                n = (n >> 1) ^ 0x82F63B78 if n & 1 else n >> 1
            _CRC.append(n)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> int:
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def matches(source: Source) -> bool:
    """The checksum of the first frame's length is right: chance gives that once in four thousand million files."""
    head = source.head
    return len(head) >= 12 and masked(head[:8]) == struct.unpack("<I", head[8:12])[0]


def read(source: Source) -> Sheet:
    sheet = Sheet(FORMAT)
    _fill(sheet, source, "")
    return sheet


def read_folder(folder: Path) -> Sheet:
    """All event files below a folder as one run: one after the other where a run was resumed, side by side where Keras keeps a
    folder for training and one for validation."""
    sheet = Sheet(FORMAT)
    files = sorted((p for p in folder.rglob("*tfevents*") if p.is_file()), key=lambda p: (p.parent != folder, str(p.parent), p.name))
    for file in files[:MOST_FILES]:
        source = open_source(file)
        if matches(source):
            inner = file.parent.relative_to(folder).as_posix()
            _fill(sheet, source, "" if inner == "." else f"{inner}/")
    return by_step(sheet) if len({file.parent for file in files}) > 1 else sheet


def by_step(sheet: Sheet) -> Sheet:
    """Rows of files that were written side by side, put together where they are of the same step."""
    steps, rows = sheet.columns.pop("step").arrays()[::-1] if "step" in sheet.columns else (np.empty(0), np.empty(0, np.int64))
    order, place = np.unique(steps, return_inverse=True)
    merged = Sheet(sheet.format, notes=sheet.notes, count=len(order), thinned=sheet.thinned)
    merged.columns["step"] = _column(np.arange(len(order)), order)
    for name, column in sheet.columns.items():
        own, values = column.arrays()
        at = place[np.minimum(np.searchsorted(rows, own), len(rows) - 1)]
        _, last = np.unique(at[::-1], return_index=True)  # what was written last for a step counts
        keep = len(at) - 1 - last
        merged.columns[name] = _column(at[keep], values[keep])
    return merged


def _column(rows: NDArray[Any], values: NDArray[np.float64]) -> Column:
    column = Column()
    column.extend(np.asarray(rows, np.int64), np.asarray(values, np.float64))
    return column


def _fill(sheet: Sheet, source: Source, prefix: str) -> None:
    row: dict[str, float] = {}
    at: int | None = None
    for event in frames(source, sheet):
        try:
            step, found = _scalars(event)
        except (wire.Broken, struct.error, UnicodeDecodeError):
            sheet.note("some events are damaged: they were left out")
            continue
        for tag, value in found:
            tag = prefix + tag
            # One row per step, as long as no tag comes twice.
            if row and (step != at or tag in row):
                sheet.row({"step": float(at or 0)} | row)
                row = {}
            row[tag] = value
            at = step
    if row:
        sheet.row({"step": float(at or 0)} | row)


def frames(source: Source, sheet: Sheet) -> Iterator[bytes]:
    try:
        with source.path.open("rb") as f:
            for k in count():
                header = f.read(12)
                if not header:
                    return
                if k % TOLD_EVERY == 0:
                    tell(source.path, f.tell(), source.size)
                length = struct.unpack("<Q", header[:8])[0] if len(header) == 12 else LARGEST_FRAME + 1
                if length > LARGEST_FRAME:
                    sheet.note("the file ends in the middle of an event: it was read up to there")
                    return
                data = f.read(length + 4)
                if len(data) < length + 4:
                    sheet.note("the file ends in the middle of an event: it was read up to there")
                    return
                yield data[:-4]
    except OSError as e:
        raise unreadable(source.path, e) from e


def _scalars(event: bytes) -> tuple[int, list[tuple[str, float]]]:
    step, found = 0, []
    for number, content in wire.fields(event):
        if number == 2 and isinstance(content, int):
            step = wire.signed(content)
        elif number == 5 and isinstance(content, bytes):
            found += [v for n, item in wire.fields(content) if n == 1 and isinstance(item, bytes) and (v := _value(item)) is not None]
    return step, found


def _value(item: bytes) -> tuple[str, float] | None:
    tag, value = "", None
    for number, content in wire.fields(item):
        if number == 1 and isinstance(content, bytes):
            tag = content.decode("utf-8")
        elif number == 2 and isinstance(content, bytes) and len(content) == 4:
            value = wire.single(content)
        elif number == 8 and isinstance(content, bytes):
            value = _tensor(content)
    return (tag, value) if tag and value is not None else None


def _tensor(content: bytes) -> float | None:
    """The value of a tensor with one element."""
    dtype, raw, listed = 0, b"", b""
    for number, data in wire.fields(content):
        if number == 1 and isinstance(data, int):
            dtype = data
        elif number == 4 and isinstance(data, bytes):
            raw = data
        elif number in (5, 6) and isinstance(data, bytes):
            listed = data
        elif number in (7, 10):
            listed = struct.pack("<q" if dtype == 9 else "<i", wire.signed(data)) if isinstance(data, int) else listed
    code = CODES.get(dtype)
    data = raw or listed
    return float(struct.unpack("<" + code[0], data)[0]) if code and len(data) == code[1] else None
