"""Where a layer was asked for that a function or block of the script's own makes: its sizes come from there."""

from __future__ import annotations

import ast
from dataclasses import replace

from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Function, called, source_at
from sickbay.script.guesses import guess


@guess
def asked_for(record: Record, layer: str, built: Place | None) -> Place | None:
    """`self.decoder = stack(sizes)` of layer "decoder.0", which is built inside `stack`; None if it is not built by a function that is called so once."""
    source = source_at(record, built)
    statement = source.statement(built.line) if source is not None and built is not None else None
    function = source.function(statement) if source is not None and statement is not None else None
    if source is None or not isinstance(function, Function):
        return None
    owner = source.parents.get(function)
    name = owner.name if isinstance(owner, ast.ClassDef) and function.name == "__init__" else function.name
    parts = [p for p in layer.split(".") if not p.isdigit()]
    found = [
        s
        for s in ast.walk(source.tree)
        if isinstance(s, ast.Assign)
        and any((t.attr if isinstance(t, ast.Attribute) else t.id if isinstance(t, ast.Name) else "") in parts for t in s.targets)
        and any(isinstance(n, ast.Call) and called(n) == name for n in ast.walk(s.value))
    ]
    return replace(source.place(found[0].lineno), guess=True) if len(found) == 1 else None
