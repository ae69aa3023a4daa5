"""Variables that go from one step to the next, as the source of the loop shows: read before they are written, and written."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from sickbay.facts import Attached, Crash
from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Loop, Source, source_at


@dataclass(frozen=True)
class Carried:
    """A variable that takes its history along, and where it is set."""

    name: str
    place: Place
    source: Source
    statement: ast.stmt
    adds_up: bool
    """It is a running sum (`total += loss`)."""


def carried(record: Record, crash: Crash) -> Carried | None:
    """The variable with a graph behind it that the loop around the crash carries on."""
    own = source_at(record, crash.place)
    for variable in crash.attached:
        source = source_at(record, Place(variable.file)) or own
        if source is None:
            continue
        if variable.name.startswith("self."):
            found = next(iter(_kept_on_object(source, variable)), None)
        else:
            found = next((c for loop in _loops(source, crash, variable) for c in _around(source, loop, variable.name)), None)
        if found is not None:
            return found
    return None


def _loops(source: Source, crash: Crash, variable: Attached) -> list[Loop]:
    """The loops around the line that died, or of the function whose variable it is, innermost first."""
    place = crash.place
    statement = source.statement(place.line) if place is not None and place.file == source.file else None
    loops = source.loops(statement) if statement is not None else []
    if loops and not isinstance(source.function(loops[0]), ast.Module) and getattr(source.function(loops[0]), "name", "") != variable.function:
        loops = []
    if loops:
        return loops
    return [n for n in ast.walk(source.tree) if isinstance(n, Loop) and getattr(source.function(n), "name", "<module>") == variable.function]


def _around(source: Source, loop: Loop, name: str) -> Iterator[Carried]:
    """Whether one turn of the loop reads the name before it sets it, and where it sets it."""
    first = ""
    for statement in _flat(loop.body):
        reads, sets = _uses(statement, name)
        if reads and not first:
            first = "read"
        if sets:
            if first == "read":
                yield _told(source, statement, name)
            first = first or "set"


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The simple statements of a block in the order of the text."""
    for statement in body:
        blocks = [getattr(statement, part, []) for part in ("body", "orelse", "finalbody")]
        if any(blocks):
            for block in blocks:
                yield from _flat(block)
        else:
            yield statement


def _uses(statement: ast.stmt, name: str) -> tuple[bool, bool]:
    nodes = [n for n in ast.walk(statement) if isinstance(n, (ast.Name, ast.Attribute)) and ast.unparse(n) == name]
    sets = any(isinstance(n.ctx, ast.Store) for n in nodes)
    reads = any(isinstance(n.ctx, ast.Load) for n in nodes) or (sets and isinstance(statement, ast.AugAssign))
    return reads, sets


def _kept_on_object(source: Source, variable: Attached) -> Iterator[Carried]:
    for statement in ast.walk(source.tree):
        if isinstance(statement, (ast.Assign, ast.AugAssign)):
            _, sets = _uses(statement, variable.name)
            inside = getattr(source.function(statement), "name", "")
            if sets and inside not in ("__init__", "reset", "init_hidden"):
                yield _told(source, statement, variable.name)


def _told(source: Source, statement: ast.stmt, name: str) -> Carried:
    line = statement.lineno
    adds = isinstance(statement, ast.AugAssign) or (isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp))
    return Carried(name, source.place(line), source, statement, adds)
