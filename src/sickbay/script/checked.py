"""Where a script asks whether a value is finite, and what it then does: the `if` that leaves a step out."""

from __future__ import annotations

import ast

from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Function, Source, called, source_at
from sickbay.script.guesses import guess

CHECKS = frozenset({"isnan", "isfinite", "isinf"})


@guess
def guard(record: Record, place: Place | None) -> ast.If | None:
    """The `if` of a file that asks whether something is finite: itself, by a name that holds the answer, or by a function of the script's own."""
    source = source_at(record, place)
    branches = [n for n in ast.walk(source.tree) if isinstance(n, ast.If)] if source is not None else []
    for asks in (_asks_itself, _asks_by_name, _asks_by_function):
        for branch in branches:
            if source is not None and asks(source, branch):
                return branch
    return None


@guess
def decided_at(record: Record, place: Place | None) -> Place | None:
    """For a check inside a function of the script's own, which gives back the answer: the only `if` that calls it."""
    source = source_at(record, place)
    statement = source.statement(place.line) if source is not None and place is not None else None
    function = source.function(statement) if source is not None and statement is not None else None
    if source is None or not isinstance(function, Function) or not _gives_an_answer(function):
        return None
    found = {b.lineno for b in ast.walk(source.tree) if isinstance(b, ast.If) and _calls(b.test, function.name)}
    return source.place(found.pop()) if len(found) == 1 else None


def _asks_itself(source: Source, branch: ast.If) -> bool:
    test = branch.test
    itself = isinstance(test, ast.Compare) and ast.unparse(test.left) == ast.unparse(test.comparators[0])  # `if loss != loss:`
    return itself or _checks(test)


def _asks_by_name(source: Source, branch: ast.If) -> bool:
    """`ok = torch.isfinite(loss)` and then `if not ok:`"""
    test = branch.test.operand if isinstance(branch.test, ast.UnaryOp) else branch.test
    if not isinstance(test, ast.Name):
        return False
    around = source.function(branch)
    return any(
        isinstance(n, ast.Assign) and _checks(n.value) and any(isinstance(t, ast.Name) and t.id == test.id for t in n.targets)
        for n in ast.walk(around)
    )


def _asks_by_function(source: Source, branch: ast.If) -> bool:
    """`if not usable(model):`, of a function that checks and gives back the answer."""
    asked = [f for c in source.calls(within=branch.test) for f in source.defined.get(called(c), ()) if isinstance(f, Function)]
    return any(_checks(f) and _gives_an_answer(f) for f in asked)


def _checks(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Call) and called(n) in CHECKS for n in ast.walk(node))


def _calls(node: ast.AST, name: str) -> bool:
    return any(isinstance(n, ast.Call) and called(n) == name for n in ast.walk(node))


def _gives_an_answer(function: ast.AST) -> bool:
    return any(isinstance(n, ast.Return) and n.value is not None for n in ast.walk(function))
