"""How a cause is declared, and the catalogue of all of them.

A cause is one module: `@cause(...)` on the generator that examines a record, a function `fix` beside it, and the module's
docstring as the documentation. The function's name with dashes is the cause's name.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import cleandoc
from types import ModuleType

from sickbay.errors import UnknownCause
from sickbay.nouns import LEVELS, Evidence, Fix, Level
from sickbay.record.reader import Record
from sickbay.signs import Signs

Examine = Callable[[Record, Signs], Iterator[Evidence]]
Mend = Callable[[Record, Sequence[Evidence]], Fix]

CHANCE, MAJORITY = "chance-level", "majority-level"
"""A model that learns nothing stands at the one by its loss and at the other by its accuracy: what explains the one explains the other."""


@dataclass(frozen=True)
class Declaration:
    """What `@cause` leaves in a module: everything but the documentation and the fix, which the module itself holds."""

    name: str
    code: str
    level: Level
    title: str
    why: str
    explains: frozenset[str]
    cure: str | None
    examine: Examine


@dataclass(frozen=True)
class Cause:
    """One illness: how it is recognised, what it brings with it, how it is cured."""

    name: str
    code: str
    level: Level
    title: str
    why: str
    """Why it hurts, in a sentence or two."""
    explains: frozenset[str]
    """Signs and causes that this one brings with it."""
    cure: str | None
    """The treatment that a trial can give, as `--treat` writes it ("lr=x0.1"); None where only a change of the code or more data helps."""
    doc: str
    examine: Examine
    fix: Mend


def cause(
    *, code: str, level: Level, title: str, why: str, explains: set[str] | frozenset[str] = frozenset(), cure: str | None = None
) -> Callable[[Examine], Declaration]:
    """Declare a cause; the decorated generator yields the evidence that a record holds for and against it."""

    def declare(examine: Examine) -> Declaration:
        name = examine.__name__.replace("_", "-")
        return Declaration(name, code, level, title, why, frozenset(explains) | ({MAJORITY} if CHANCE in explains else set()), cure, examine)

    return declare


@cache
def catalogue() -> Mapping[str, Cause]:
    """Every cause by name, by level and code."""
    found = [_complete(declaration, module) for module in _modules() for declaration in vars(module).values() if isinstance(declaration, Declaration)]
    return {c.name: c for c in sorted(found, key=lambda c: (LEVELS.index(c.level), c.code))}


def find(name_or_code: str) -> Cause:
    """The cause of that name or code. Raises `UnknownCause` with the nearest names."""
    wanted = name_or_code.strip().replace("_", "-")
    known = catalogue()
    for c in known.values():
        if wanted.lower() in (c.name, c.code.lower()):
            return c
    near = difflib.get_close_matches(wanted.lower(), [*known, *(c.code.lower() for c in known.values())], n=3, cutoff=0.5)
    plain = wanted.lower().replace("-", "")
    inside = [name for name in known if plain and plain in name.replace("-", "")]
    names = (inside + [next(c.name for c in known.values() if match in (c.name, c.code.lower())) for match in near])[:4]
    hint = f"did you mean {', '.join(dict.fromkeys(names))}?" if names else "`sickbay causes` lists them all"
    raise UnknownCause(f"no cause is called {name_or_code!r}; {hint}")


def _modules() -> Iterator[ModuleType]:
    for level in LEVELS:
        package = importlib.import_module(f"sickbay.causes.{level}")
        for info in pkgutil.iter_modules(package.__path__):
            yield importlib.import_module(f"{package.__name__}.{info.name}")


def _complete(d: Declaration, module: ModuleType) -> Cause:
    return Cause(d.name, d.code, d.level, d.title, d.why, d.explains, d.cure, cleandoc(module.__doc__ or ""), d.examine, module.fix)
