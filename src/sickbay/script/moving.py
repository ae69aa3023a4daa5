"""Edits that move a statement of the user's to another place in the same file."""

from __future__ import annotations

import ast

from sickbay.nouns import Place
from sickbay.script.fixing import Edit, Source


def statement_at(source: Source, place: Place | None) -> ast.stmt | None:
    """The innermost statement on a place's line."""
    return source.statement(place.line if place is not None else None)


def without(source: Source, statement: ast.stmt) -> Edit | None:
    """The edit that takes a statement's lines out; None if it shares a line or is all that its block holds."""
    if source.before(statement, "") is None or source.after(statement, "") is None or _alone(source, statement):
        return None
    return Edit(source.line_starts[statement.lineno - 1], source.line_starts[statement.end_lineno or statement.lineno], "")


def _alone(source: Source, statement: ast.stmt) -> bool:
    parent = source.parents.get(statement)
    blocks = [getattr(parent, name, None) for name in ("body", "orelse", "finalbody")]
    return any(block == [statement] for block in blocks)


def moved_after(source: Source, statement: ast.stmt | None, target: ast.stmt | None) -> str:
    """The diff that puts a statement right after another one, with that one's indentation."""
    if statement is None or target is None or statement is target or source.function(statement) is not source.function(target):
        return ""
    removal = without(source, statement)
    return source.diff(removal, source.after(target, source.segment(statement))) if removal is not None else ""


def out_of_loop(source: Source, statement: ast.stmt | None) -> str:
    """The diff that takes a statement out of the innermost loop and puts it after it; only where another loop stands around that."""
    loops = source.loops(statement) if statement is not None else []
    return moved_after(source, statement, loops[0]) if len(loops) >= 2 else ""
