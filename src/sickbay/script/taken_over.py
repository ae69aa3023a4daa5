"""The line where a script takes over data that hold broken samples: there they have to be left out (see lineage.py)."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.entering import given
from sickbay.script.fixing import Source, called
from sickbay.script.guesses import guess
from sickbay.script.prepared import trained_on

EMPTY = frozenset({"zeros", "empty", "ones", "full", "zeros_like", "empty_like", "ones_like", "full_like"})
"""What they make is filled row by row: that is how data are made, not how some of them are changed."""

CHECKS = frozenset({"isfinite", "isnan", "isna", "isnull", "notna", "notnull"})


@guess
def taken_over(record: Record) -> Place | None:
    """`table, target = read_station()`, of a function of the script's own that puts other values into some rows (a mark for what is missing, another unit);
    where rows are left out behind it, the line that says which: these went through."""
    for found in (given(record), trained_on(record)):
        for statement in found.statements if found is not None else ():
            if found is not None and isinstance(statement, ast.Assign) and _from_own_function(found.source, statement):
                beside = [s for s in found.statements if s.lineno > statement.lineno and found.source.function(s) is found.source.function(statement)]
                return found.place(_check(beside) or statement)
    return None


def _check(statements: Sequence[ast.stmt]) -> ast.stmt | None:
    """`known = np.isfinite(table).all(1)`, of which `table[known]` is made."""
    masks = {n.slice.id for s in statements for n in ast.walk(s) if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Name)}
    for s in statements:
        named = isinstance(s, ast.Assign) and len(s.targets) == 1 and isinstance(s.targets[0], ast.Name) and s.targets[0].id in masks
        if named and any(isinstance(n, ast.Compare) or (isinstance(n, ast.Call) and called(n) in CHECKS) for n in ast.walk(s)):
            return s
    return None


def _from_own_function(source: Source, statement: ast.Assign) -> bool:
    names = {called(n) for n in ast.walk(statement.value) if isinstance(n, ast.Call)}
    made = [f for name in names for f in source.defined.get(name, ()) if isinstance(f, ast.FunctionDef)]
    return any(_changes_some(f) for f in made if source.function(statement) is not f)


def _changes_some(function: ast.FunctionDef) -> bool:
    """`table[missing] = -999`, `profile[some] *= 100`, of what was there before."""
    filled = {ast.unparse(t) for s in ast.walk(function) if isinstance(s, ast.Assign) and _calls(s.value, EMPTY) for t in s.targets}
    for s in ast.walk(function):
        targets = s.targets if isinstance(s, ast.Assign) else [s.target] if isinstance(s, ast.AugAssign) and isinstance(s.op, ast.Mult) else []
        if any(isinstance(t, ast.Subscript) and isinstance(t.value, ast.Name) and t.value.id not in filled and _some_rows(t.slice) for t in targets):
            return True
    return False


def _calls(value: ast.expr, names: frozenset[str]) -> bool:
    return isinstance(value, ast.Call) and called(value) in names


def _some_rows(index: ast.expr) -> bool:
    """Not one column of all rows, as in `z[:, 0] = ...`, nor what is under a key."""
    first = index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index
    return not isinstance(first, (ast.Slice, ast.Constant))
