"""How an intervention is declared, and the catalogue of all of them.

An intervention is one module in `interventions/`: `@intervention(...)` on the function that installs it in the user's
process. The function's name with dashes is its name, which is also what a cause's `cure` says. Nothing here imports torch.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from sickbay.errors import UsageError

Install = Callable[..., None]


@dataclass(frozen=True)
class Intervention:
    """One change that a trial can make."""

    name: str
    describe: str
    """What it does, in a line."""
    install: Install
    """Called with the `Control` of the process and the parsed value, if there is one."""
    parse: Callable[[str], Any] | None
    """Reads its value; None if it takes none."""
    default: str | None
    """The value when none is written; None if one must be."""
    label: str
    """For reports; `{}` stands for the value."""
    redefines_loss: bool
    """The loss is computed otherwise than without it, so that its level cannot be compared, only how it falls."""
    eases: bool
    """It leaves samples out, those of its value: where they are many and hard to learn, a lower training loss says nothing by itself."""


def intervention(
    describe: str,
    *,
    parse: Callable[[str], Any] | None = None,
    default: str | None = None,
    label: str = "",
    redefines_loss: bool = False,
    eases: bool = False,
) -> Callable[[Install], Intervention]:
    """Declare an intervention; the decorated function installs it."""

    def declare(install: Install) -> Intervention:
        name = install.__name__.replace("_", "-")
        return Intervention(name, describe, install, parse, default, label or name.replace("-", " "), redefines_loss, eases)

    return declare


@cache
def catalogue() -> Mapping[str, Intervention]:
    """Every intervention by name."""
    package = importlib.import_module("sickbay.trials.interventions")
    modules = [importlib.import_module(f"{package.__name__}.{m.name}") for m in pkgutil.iter_modules(package.__path__)]
    found = [value for module in modules for value in vars(module).values() if isinstance(value, Intervention)]
    return {i.name: i for i in sorted(found, key=lambda i: i.name)}


def find(name: str) -> Intervention:
    """The intervention of that name. Raises `UsageError` with the nearest names."""
    known = catalogue()
    wanted = name.strip().replace("_", "-")
    if wanted in known:
        return known[wanted]
    near = difflib.get_close_matches(wanted, known, n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(near)}?" if near else f"there are {', '.join(known)}"
    raise UsageError(f"there is no treatment {name!r}; {hint}")
