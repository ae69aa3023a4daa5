"""The line of `forward` where a layer that nothing calls would come."""

from __future__ import annotations

import ast

from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.fixing import sources
from sickbay.script.guesses import guess
from sickbay.script.prepared import guessed


@guess
def passed_over(record: Record, parameter: str) -> Place | None:
    """Beside the neighbour that it has in `__init__`, if `forward` does not name it at all: a table of positions after the tokens', a block after the one before."""
    for source, model in ((s, c) for s in sources(record) for named in s.defined.values() for c in named if isinstance(c, ast.ClassDef)):
        built, forward = _built(model), _method(model, "forward")
        lacking = next((name for name in reversed(parameter.split(".")) if name in built), None)
        used = _used(forward) if forward is not None else {}
        if lacking is not None and lacking not in used:
            at = built.index(lacking)
            beside = next((n for n in (*built[at::-1], *built[at:]) if n in used), None)
            return guessed(source, used[beside]) if beside is not None else None
    return None


def _method(model: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    return next((f for f in model.body if isinstance(f, ast.FunctionDef) and f.name == name), None)


def _built(model: ast.ClassDef) -> list[str]:
    """What `__init__` puts into the model, in that order."""
    body = _method(model, "__init__")
    stored = [n for n in ast.walk(body) if isinstance(n, ast.Attribute) and _of_self(n, ast.Store)] if body is not None else []
    return [n.attr for n in sorted(stored, key=lambda n: (n.lineno, n.col_offset))]


def _used(forward: ast.FunctionDef) -> dict[str, ast.stmt]:
    """What `forward` reads of the model, with the first statement that does."""
    used: dict[str, ast.stmt] = {}
    for statement in (s for s in ast.walk(forward) if isinstance(s, ast.stmt) and not hasattr(s, "body")):
        for n in ast.walk(statement):
            if isinstance(n, ast.Attribute) and _of_self(n, ast.Load):
                used.setdefault(n.attr, statement)
    return used


def _of_self(attribute: ast.Attribute, context: type[ast.expr_context]) -> bool:
    return isinstance(attribute.ctx, context) and isinstance(attribute.value, ast.Name) and attribute.value.id == "self"
