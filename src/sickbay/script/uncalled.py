"""Calls that lost their parentheses: `optimizer.zero_grad` as a whole statement only names the method."""

from __future__ import annotations

import ast

from sickbay.nouns import Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Source, source_at


def uncalled(source: Source, method: str, owner: str = "") -> ast.expr | None:
    """The statement that only names a method (of that owner, where it is known)."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Attribute) and node.value.attr == method:
            name = source.segment(node.value.value)
            if not owner or name in (owner, owner.removeprefix("self.")):
                return node.value
    return None


def uncalled_at(record: Record, near: Place | None, method: str) -> Place | None:
    """The line of such a statement in the file that a place points into."""
    source = source_at(record, near)
    named = uncalled(source, method) if source is not None else None
    return source.place(named.lineno) if source is not None and named is not None else None


def call_it(record: Record, near: Place | None, method: str) -> Fix | None:
    """The fix that adds the parentheses; None where no such statement is."""
    source = source_at(record, near)
    named = uncalled(source, method) if source is not None else None
    if source is None or named is None:
        return None
    diff = source.diff(source.replacing(named, source.segment(named) + "()"))
    return Fix(f"call {method}: without parentheses it is only named", diff) if diff else None
