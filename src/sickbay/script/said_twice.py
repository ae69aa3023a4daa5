"""A call that stands twice for one object, where the second was meant for another: copied, and not changed."""

from __future__ import annotations

import ast
from collections.abc import Collection
from itertools import pairwise

from sickbay.script.fixing import Source, receiver


def said_twice(source: Source, method: str, around: ast.AST, names: Collection[str]) -> list[ast.expr]:
    """What the second of `opt_a.step()`, `opt_a.step()` is called on: two in a row of one of these names, in one block and with no backward pass between."""
    found = [(c, owner) for c in source.calls(method, within=around) if (owner := receiver(c)) is not None and source.segment(owner) in names]
    return [owner for (a, first), (b, owner) in pairwise(found) if source.segment(first) == source.segment(owner) and _in_a_row(source, a, b)]


def _in_a_row(source: Source, first: ast.Call, second: ast.Call) -> bool:
    between = [c for c in source.calls("backward") if first.lineno < c.lineno < second.lineno]
    one, other = source.statement(first.lineno), source.statement(second.lineno)
    return not between and one is not None and other in source.block(one)
