"""What a data set's own `__iter__` goes through: no loader can shuffle it, so the order has to be drawn there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sickbay.facts import Loader
from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Edit, Function, Source, called, source_at
from sickbay.script.guesses import guess
from sickbay.script.prepared import guessed

LISTS = frozenset({"list", "sorted"})
"""Calls that make a list of its own, which may be shuffled in place."""


@guess
def gone_through(record: Record, loader: Loader) -> Place | None:
    """The line of `__iter__` that makes the list which its outermost loop goes through, else that loop."""
    source = source_at(record, loader.item_at)
    loop = _loop(source, loader) if source is not None else None
    return guessed(source, _made(source, loop) or loop) if source is not None and loop is not None else None


@guess
def shuffled(record: Record, loader: Loader) -> str | None:
    """The diff that shuffles it, where it certainly is a list and the script has `random` at hand."""
    source = source_at(record, loader.item_at)
    loop = _loop(source, loader) if source is not None else None
    if source is None or loop is None or not _has_random(source):
        return None
    return source.diff(_edit(source, loop))


def _edit(source: Source, loop: ast.For) -> Edit | None:
    made = _made(source, loop)
    if made is not None and isinstance(loop.iter, ast.Name) and _is_list(made.value):
        return source.after(made, f"random.shuffle({loop.iter.id})")
    if isinstance(loop.iter, ast.Call) and _is_list(loop.iter):
        text = source.segment(loop.iter)
        return source.replacing(loop.iter, f"random.sample({text}, k=len({text}))")
    return None


def _loop(source: Source, loader: Loader) -> ast.For | None:
    """The outermost loop around what `__iter__` yields."""
    around = source.statement(loader.item_at.line if loader.item_at is not None else None)
    function = around if isinstance(around, Function) and around.name == "__iter__" else None
    for given in _yields(function) if function is not None else ():
        loops = source.loops(given)
        if source.function(given) is function and loops and isinstance(loops[-1], ast.For):
            return loops[-1]
    return None


def _yields(function: ast.AST) -> Iterator[ast.AST]:
    return (n for n in ast.walk(function) if isinstance(n, (ast.Yield, ast.YieldFrom)))


def _made(source: Source, loop: ast.For) -> ast.Assign | None:
    """`todo = list(self.index)`, the newest before the loop in the same block."""
    if not isinstance(loop.iter, ast.Name):
        return None
    name, block = loop.iter.id, source.block(loop)
    made = [s for s in block[: block.index(loop)] if isinstance(s, ast.Assign) and [ast.unparse(t) for t in s.targets] == [name]]
    return made[-1] if made else None


def _is_list(value: ast.expr) -> bool:
    return isinstance(value, (ast.List, ast.ListComp)) or (isinstance(value, ast.Call) and called(value) in LISTS)


def _has_random(source: Source) -> bool:
    return any(a.name == "random" and a.asname is None for n in source.tree.body if isinstance(n, ast.Import) for a in n.names)
