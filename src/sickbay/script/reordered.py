"""The line of a script that puts one of inputs and labels into another order, or takes one from another place."""

from __future__ import annotations

import ast

from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Source, called, source_at

IN_PLACE = frozenset({"shuffle", "sort", "reverse"})
MOVING = frozenset({"roll", "flip", "sort", "sorted", "shuffle", "permutation", "randperm", "argsort", "flipud", "sample", "sort_values"})


def reordered(record: Record, near: Place | None) -> Place | None:
    """The only line that could be meant; None if there is none, or if there are several."""
    source = source_at(record, near)
    if source is None or near is None:
        return None
    found = sorted({*_permuted(source), *_moved(source), *_neighbours(source)})
    if len(found) != 1:
        return None
    return Place(near.file, found[0], None, source.lines[found[0] - 1].strip())


def _permuted(source: Source) -> list[int]:
    """`x = x[order]` where nothing else is put into that order."""
    by_order: dict[str, list[tuple[str, int]]] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name):
            by_order.setdefault(ast.unparse(node.slice), []).append((node.value.id, node.lineno))
    lines = []
    for node in ast.walk(source.tree):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Subscript)
            and _itself(node.targets[0], node.value.value)
            and not source.loops(node)
        ):
            order = ast.unparse(node.value.slice)
            made = isinstance(node.value.slice, ast.Call) and called(node.value.slice) in MOVING
            shared = len({name for name, _ in by_order.get(order, [])}) > 1
            lines += [node.lineno] if (made or isinstance(node.value.slice, ast.Name)) and not shared else []
    return lines


def _moved(source: Source) -> list[int]:
    """`y = y.roll(1)`, `y = np.roll(y, 1)`, `random.shuffle(y)`: of one thing, outside of any loop."""
    lines = []
    for node in ast.walk(source.tree):
        if source.loops(node):
            continue
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and called(node.value) in MOVING:
            given = [node.value.func.value] if isinstance(node.value.func, ast.Attribute) else []
            lines += [node.lineno] if any(_itself(node.targets[0], a) for a in [*given, *node.value.args]) else []
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and called(node.value) in IN_PLACE and len(node.value.args) <= 1:
            lines.append(node.lineno)
    return lines


def _neighbours(source: Source) -> list[int]:
    """`return self.x[i], self.y[i + 1]` in a data set's `__getitem__`."""
    lines = []
    for function in ast.walk(source.tree):
        if isinstance(function, ast.FunctionDef) and function.name == "__getitem__":
            for node in ast.walk(function):
                if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.BinOp) and isinstance(node.slice.op, ast.Add | ast.Sub):
                    lines += [node.lineno] if isinstance(node.slice.right, ast.Constant) else []
    return lines


def _itself(target: ast.expr, value: ast.expr) -> bool:
    return isinstance(target, ast.Name) and isinstance(value, ast.Name) and target.id == value.id
