"""The wire format of protocol buffers: fields by number, nothing more. Enough to pick scalars out of messages whose schema is known.

https://protobuf.dev/programming-guides/encoding
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

Field = tuple[int, int | bytes]


class Broken(ValueError):
    """The bytes are no message."""


def varint(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned integer and where it ends."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Broken("a number has no end")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data: bytes) -> Iterator[Field]:
    """Number and content of each field: integers as they are, everything else as bytes (little-endian where fixed)."""
    at, end = 0, len(data)
    while at < end:
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
            yield key >> 3, value
            continue
        if kind == 1:
            size = 8
        elif kind == 5:
            size = 4
        elif kind == 2:
            size, at = varint(data, at)
        else:
            raise Broken(f"unknown wire type {kind}")
        if at + size > end:
            raise Broken("a field is longer than its message")
        yield key >> 3, data[at : at + size]
        at += size


def signed(value: int) -> int:
    """An int64 as it was before it was written."""
    return value - (1 << 64) if value >> 63 else value


def double(data: bytes) -> float:
    return float(struct.unpack("<d", data)[0])


def single(data: bytes) -> float:
    return float(struct.unpack("<f", data)[0])
