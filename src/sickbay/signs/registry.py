"""How a sign is declared: `@sign("flat-loss")` on a function from a Record to the signs it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sickbay.nouns import Sign
from sickbay.record.reader import Record

SignReader = Callable[[Record], Iterator[Sign]]

READERS: dict[str, SignReader] = {}
"""Every declared sign by name; filled when the package's modules are imported."""


def sign(name: str) -> Callable[[SignReader], SignReader]:
    """Declare the function that reads the sign `name` from a record."""

    def declare(reader: SignReader) -> SignReader:
        if READERS.get(name, reader).__module__ != reader.__module__:
            raise ValueError(f"the sign {name!r} is declared in {READERS[name].__module__} and again in {reader.__module__}")
        READERS[name] = reader
        return reader

    return declare


def share(value: float, none: float, full: float) -> float:
    """Strength of a sign: 0 at `none`, 1 at `full`, linear between (works in both directions)."""
    return min(1.0, max(0.0, (value - none) / (full - none)))
