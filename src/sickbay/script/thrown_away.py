"""Results that a script computes and does not keep."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass

from sickbay.nouns import Place
from sickbay.script.fixing import Source, called, keyword, receiver
from sickbay.script.guesses import guess


@dataclass(frozen=True)
class Unused:
    """`torch.relu(h)` as a statement: it makes a new tensor, and nobody keeps it."""

    source: Source
    call: ast.Call
    name: str
    """What it was meant to change."""

    @property
    def place(self) -> Place:
        return self.source.place(self.call.lineno)

    @property
    def text(self) -> str:
        return self.source.segment(self.call)


@guess
def thrown_away(source: Source | None, place: Place | None, functions: Collection[str]) -> list[Unused] | None:
    """The calls of one of these functions, around a place, whose result is not used: from the place on, else those before it; None if there is none."""
    statement = source.statement(place.line) if source is not None and place is not None else None
    if source is None or place is None or place.line is None or statement is None:
        return None
    found = []
    for node in ast.walk(source.function(statement)):
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and called(call) in functions and keyword(call, "inplace") is None:
            changed = call.args[0] if call.args else receiver(call)
            found += [Unused(source, call, changed.id)] if isinstance(changed, ast.Name) else []
    return sorted(found, key=lambda u: (u.call.lineno < (place.line or 0), u.call.lineno)) or None


@guess
def result_dropped(source: Source | None, place: Place | None) -> ast.Expr | None:
    """`restore(model, path)` as a statement, where the function around the place returns what it made: the only call of it."""
    statement = source.statement(place.line) if source is not None and place is not None else None
    function = source.function(statement) if source is not None and statement is not None else None
    if (
        source is None
        or not isinstance(function, ast.FunctionDef)
        or not any(isinstance(n, ast.Return) and n.value is not None for n in ast.walk(function))
    ):
        return None
    calls = source.calls(function.name)
    around = source.statement(calls[0].lineno) if len(calls) == 1 else None
    return around if isinstance(around, ast.Expr) and around.value is calls[0] else None
