"""A loop over epochs that the script itself leaves early: how many were planned, and the line that decides."""

from __future__ import annotations

import ast
from dataclasses import dataclass

import numpy as np

from sickbay.causes.evidence import strong
from sickbay.nouns import Evidence, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Source, called, is_number, sources
from sickbay.script.naming import named_numbers
from sickbay.signs.curves import curve

EVALUATIONS = 5
AT_THE_END = 0.9
"""Of the steps: before it, the last evaluation says nothing of how the run ended."""
STILL_THERE = 0.1
LEFT_OUT, EACH = 0.75, 0.03
"""Three quarters of the planned rounds at most, and three per cent of the loss with every one of the last: early stopping waits for validation to stand."""


@dataclass(frozen=True)
class Loop:
    """`for epoch in range(40): ... if done: break`."""

    planned: int
    leaves_at: Place


def left_early(record: Record) -> Evidence | None:
    """The script leaves its loop over epochs (early stopping) though validation has fallen with every evaluation, and was far from done."""
    for c in (curve(s) for s in record.series_like("loss/eval")):
        if len(c) < EVALUATIONS or c.nonfinite or c.steps[-1] < AT_THE_END * record.facts.run.steps or float(np.min(c.values)) <= 0:
            continue
        last, falls = float(c.values[-1]), -np.diff(np.log(c.values[-EVALUATIONS:]))
        loop = next((x for x in _loops(record) if len(c) <= LEFT_OUT * x.planned), None)
        if loop is not None and np.all(falls > 0) and float(np.mean(falls)) > EACH and last > STILL_THERE * float(c.values[0]):
            return strong(
                f"the script leaves its loop after {len(c)} of {loop.planned} rounds, though validation loss fell with each of the last {len(falls)} evaluations, to {last:.3g} "
                f"(it began at {float(c.values[0]):.3g})",
                loop.leaves_at,
                (int(c.steps[-EVALUATIONS]), int(c.steps[-1])),
                loss=last,
                planned=loop.planned,
            )
    return None


def _loops(record: Record) -> list[Loop]:
    """All loops of a known length that have a way out."""
    found = []
    for source in sources(record):
        for node in (n for n in ast.walk(source.tree) if isinstance(n, ast.For)):
            planned, way_out = _count(source, node.iter), _way_out(source, node)
            if planned and way_out is not None:
                found.append(Loop(planned, source.place(way_out.lineno)))
    return found


def _count(source: Source, node: ast.AST) -> int:
    """Of `range(40)`, `range(1, n_epochs + 1)`; 0 where it cannot be told."""
    if not isinstance(node, ast.Call) or called(node) not in ("range", "trange") or not 1 <= len(node.args) <= 2:
        return 0
    ends = [_number(source, a) for a in node.args]
    if any(e is None for e in ends):
        return 0
    first, last = (0, ends[0]) if len(ends) == 1 else ends
    return max((last or 0) - (first or 0), 0)


def _number(source: Source, node: ast.AST) -> int | None:
    if is_number(node):
        return int(node.value) if isinstance(node.value, (int, float)) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        left, right = _number(source, node.left), _number(source, node.right)
        sign = 1 if isinstance(node.op, ast.Add) else -1
        return left + sign * right if left is not None and right is not None else None
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
        name = (
            str(node.slice.value)
            if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
            else ast.unparse(node).rpartition(".")[2]
        )
        numbers = {int(n.value) for n in named_numbers(source, name) if isinstance(n.value, (int, float))}
        return next(iter(numbers)) if len(numbers) == 1 else None
    return None


def _way_out(source: Source, loop: ast.For) -> ast.stmt | None:
    """The `if` around a `break` of this very loop."""
    for node in ast.walk(loop):
        if isinstance(node, ast.Break) and next((a for a in source.loops(node)), None) is loop:
            return next((a for a in source.ancestors(node) if isinstance(a, ast.If)), None)
    return None
