"""The line of `forward` where a layer that nothing calls would come, or that calls another instead."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Source, sources
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


@dataclass(frozen=True)
class Mistaken:
    """`self.user_tower(feats)` in `encode_films`, where the model has a `film_tower` that nothing calls."""

    source: Source
    called: ast.Attribute
    meant: str

    @property
    def place(self) -> Place:
        return replace(self.source.place(self.called.lineno), guess=True)

    def put_right(self) -> str:
        """The diff that calls the other."""
        return self.source.diff(self.source.replacing(self.called, f"self.{self.meant}"))


@guess
def mistaken(record: Record, parameter: str) -> Mistaken | None:
    """The call that took another layer for one that nothing names: both are made by the same function or class, and the other is called twice. Which of the
    two is meant is told by a word of the layer's name (the function's that calls it, or of what it gives), else by the order in which both are built."""
    for source, model in ((s, c) for s in sources(record) for named in s.defined.values() for c in named if isinstance(c, ast.ClassDef)):
        built = _built(model)
        lacking = next((name for name in reversed(parameter.split(".")) if name in built), None)
        calls = [n for n in ast.walk(model) if isinstance(n, ast.Attribute) and _of_self(n, ast.Load)]
        if lacking is None or any(n.attr == lacking for n in calls):
            continue
        made = _makers(model)
        for other in (n for n in built if n != lacking and made.get(n) and made.get(n) == made.get(lacking)):
            uses = sorted((n for n in calls if n.attr == other and _is_called(source, n)), key=lambda n: (n.lineno, n.col_offset))
            if len(uses) == 2:
                named = [u for u in uses if (_words(lacking) - _words(other)) & _told_of(source, u)]
                by_order = uses[built.index(lacking) > built.index(other)]
                return Mistaken(source, named[0] if len(named) == 1 else by_order, lacking)
    return None


def _makers(model: ast.ClassDef) -> dict[str, str]:
    """What each layer is made by: `tower` of `self.film_tower = tower(12)`."""
    body = _method(model, "__init__")
    assigned = [s for s in ast.walk(body) if isinstance(s, ast.Assign) and isinstance(s.value, ast.Call)] if body is not None else []
    return {
        t.attr: ast.unparse(s.value.func)
        for s in assigned
        for t in s.targets
        if isinstance(s.value, ast.Call) and isinstance(t, ast.Attribute) and _of_self(t, ast.Store)
    }


def _is_called(source: Source, layer: ast.Attribute) -> bool:
    around = source.parents.get(layer)
    return isinstance(around, ast.Call) and around.func is layer


def _words(name: str) -> set[str]:
    return {word for word in name.lower().split("_") if word}


def _told_of(source: Source, use: ast.Attribute) -> set[str]:
    """The words of the function around a call, and of the name that its result gets; of several, one as well."""
    statement = source.statement(use.lineno)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = [getattr(source.function(use), "name", ""), *(t.id for t in targets if isinstance(t, ast.Name))]
    words = {word for name in names for word in _words(name)}
    return words | {word.removesuffix("s") for word in words}
