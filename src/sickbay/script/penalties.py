"""Regularisers that the script adds to its loss by hand: where they stand, and the number that sets their strength."""

from __future__ import annotations

import ast

from sickbay.facts import Penalty
from sickbay.record.reader import Record
from sickbay.script.fixing import Source, is_number, source_at
from sickbay.script.naming import named_numbers
from sickbay.script.written import Written


def penalty_of(record: Record) -> Penalty | None:
    """The one that weighs most."""
    return max((p for loss in record.facts.losses for p in loss.penalties), key=lambda p: p.first, default=None)


def strength(record: Record, penalty: Penalty) -> Written | None:
    """The factor before it: the number itself, or the one that its name is given."""
    source = source_at(record, penalty.place)
    if source is None or penalty.place is None:
        return None
    for node in (n for n in ast.walk(source.tree) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult) and _spans(n, penalty.place.line)):
        for factor in (node.left, node.right):
            numbers = [factor] if is_number(factor) else named_numbers(source, _name(source, factor))
            if len(numbers) == 1:
                return source, numbers[0]
    return None


def _name(source: Source, node: ast.AST) -> str:
    """The last name of `self.l1`, `args.l1` or `cfg["l1"]`."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return source.segment(node).rpartition(".")[2] if isinstance(node, (ast.Name, ast.Attribute)) else ""


def _spans(node: ast.BinOp, line: int | None) -> bool:
    return line is not None and node.lineno <= line <= (node.end_lineno or node.lineno)
