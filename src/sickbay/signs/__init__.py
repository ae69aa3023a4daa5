"""Signs: what is measurably wrong with a run, before anyone says why. One file per sign, pure functions of a Record."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.registry import READERS, SignReader

__all__ = ["Signs", "read_signs", "sign_names"]


@dataclass(frozen=True)
class Signs:
    """The signs of one run, strongest first within each name."""

    all: tuple[Sign, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    """Signs that could not be looked for (a bug of ours), and why: one of them does not take the others with it."""

    def named(self, *names: str) -> tuple[Sign, ...]:
        """The signs with one of these names."""
        return tuple(s for s in self.all if s.name in names)

    def has(self, *names: str) -> bool:
        """Whether any of these signs was seen."""
        return any(s.name in names for s in self.all)

    def at(self, where: str | None, *names: str) -> tuple[Sign, ...]:
        """The signs with one of these names at one place (a series, a layer)."""
        return tuple(s for s in self.named(*names) if s.where == where)

    def __iter__(self) -> Iterator[Sign]:
        return iter(self.all)

    def __len__(self) -> int:
        return len(self.all)


def read_signs(record: Record) -> Signs:
    """Every sign that the record shows."""
    found: list[Sign] = []
    failed: list[tuple[str, str]] = []
    for name, reader in _readers().items():
        try:
            found += sorted(reader(record), key=lambda s: -s.strength)
        except Exception as e:
            failed.append((name, f"{type(e).__name__}: {e}"))
    return Signs(tuple(found), tuple(failed))


def sign_names() -> tuple[str, ...]:
    """The names of all signs that this version knows."""
    return tuple(_readers())


@cache
def _readers() -> dict[str, SignReader]:
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return dict(sorted(READERS.items()))
