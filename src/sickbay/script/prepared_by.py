"""The function of the script that prepares what one line gives to the model."""

from __future__ import annotations

import ast
from dataclasses import replace

from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.bindings import bound, own
from sickbay.script.fixing import Function, Source, called, receiver, source_at

SHAPED = frozenset({"unsqueeze", "view", "reshape", "squeeze", "float", "to", "contiguous"})


def prepared_by(record: Record, place: Place | None) -> Place | None:
    """What it returns, where the function has one result and no other line calls it: a difference between its samples and others lies there. None where the text shows no such function."""
    source = source_at(record, place)
    statement = source.statement(place.line) if source is not None and place is not None else None
    if source is None or statement is None:
        return None
    for call in (n for n in ast.walk(statement) if isinstance(n, ast.Call) and n.args):
        given = _made(source, call.args[0])
        made = [f for f in source.defined.get(called(given), ()) if isinstance(f, Function)] if given is not None else []
        if given is None or len(made) != 1 or len(source.calls(called(given))) != 1:
            continue
        results = [n for n in own(made[0]) if isinstance(n, ast.Return) and n.value is not None]
        if len(results) == 1:
            return replace(source.place(results[0].lineno), guess=True)
    return None


def _made(source: Source, value: ast.expr) -> ast.Call | None:
    """The call that gives a value, or the variable that it is kept in."""
    if isinstance(value, ast.Name):
        around = next((a for a in source.ancestors(value) if isinstance(a, Function)), None)
        found = [v for _, v, where in bound(value.id, around) if not where] if around is not None else []
        value = found[0] if len(found) == 1 and found[0] is not None else value
    while not isinstance(value, ast.Call) or called(value) in SHAPED:  # `features(x)[None]`, `features(x).unsqueeze(0)`
        inner = value.value if isinstance(value, ast.Subscript) else receiver(value) if isinstance(value, ast.Call) else None
        if inner is None:
            return None
        value = inner
    return value
