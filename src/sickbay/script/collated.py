"""A function that puts the samples of a batch in another order (by length, say) and leaves a part of what it returns in the order before."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from sickbay.facts import Loader
from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Function, Source, called, keyword, source_at
from sickbay.script.guesses import guess
from sickbay.script.statement_kinds import given_names, named_in

TENSORS = frozenset({"tensor", "as_tensor", "from_numpy", "stack", "cat", "LongTensor", "FloatTensor"})


@dataclass(frozen=True)
class Unordered:
    """`return padded, lengths, labels`, where only the first two went through `order`."""

    source: Source
    left: tuple[ast.Name, ...]
    """What is in the order before,"""
    order: str

    @property
    def names(self) -> str:
        return " and ".join(f"`{name.id}`" for name in self.left)

    @property
    def place(self) -> Place:
        return replace(self.source.place(self.left[0].lineno), guess=True)

    def diff(self) -> str:
        """All of it in one order; "" where it is no tensor that takes one as its index."""
        function = self.source.function(self.left[0])
        made = {name for s in ast.walk(function) if isinstance(s, ast.Assign) and _is_tensor(s.value) for name in given_names(s)}
        edits = [self.source.replacing(name, f"{name.id}[{self.order}]") for name in self.left if name.id in made]
        return self.source.diff(*edits) if len(edits) == len(self.left) else ""


@guess
def unordered(record: Record, loader: Loader | None) -> Unordered | None:
    """In the `collate_fn` of a loader."""
    source = source_at(record, loader.built_at if loader is not None else None)
    if source is None or loader is None or loader.built_at is None:
        return None
    for call in source.calls("DataLoader", line=loader.built_at.line):
        given = keyword(call, "collate_fn")
        name = ast.unparse(given.value) if given is not None else ""
        functions = [f for f in source.defined.get(name.rpartition(".")[2], ()) if isinstance(f, Function)]
        if len(functions) == 1:
            return _left_behind(source, functions[0])
    return None


def _left_behind(source: Source, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Unordered | None:
    returned = [n.value for n in ast.walk(function) if isinstance(n, ast.Return)]
    if len(returned) != 1 or not isinstance(returned[0], ast.Tuple):
        return None
    of_samples = {a.arg for a in function.args.args if a.arg != "self"}
    order, ordered = "", set[str]()
    for statement in (s for s in function.body if isinstance(s, ast.Assign)):
        if not order and (order := _drawn_order(statement)):
            ordered = given_names(statement)
        elif named_in(statement.value) & ordered:
            ordered |= given_names(statement)
        else:
            ordered -= given_names(statement)
        if named_in(statement.value) & of_samples:
            of_samples |= given_names(statement)
    parts = returned[0].elts
    left = tuple(p for p in parts if isinstance(p, ast.Name) and p.id in of_samples - ordered)
    moved = [p for p in parts if named_in(p) & ordered]
    handed_on = any(isinstance(p, ast.Name) and p.id == order for p in parts)  # so that others can put it back
    return Unordered(source, left, order) if order and left and moved and not handed_on else None


def _drawn_order(statement: ast.Assign) -> str:
    """`lengths, order = lengths.sort(descending=True)`, `order = np.argsort(lengths)`: the name that the order gets."""
    target, value = statement.targets[0], statement.value
    while isinstance(value, ast.Subscript):
        value = value.value  # order = np.argsort(lengths)[::-1]
    if not isinstance(value, ast.Call):
        return ""
    if called(value) == "sort" and isinstance(target, ast.Tuple) and len(target.elts) == 2 and isinstance(target.elts[1], ast.Name):
        return target.elts[1].id
    by_number = called(value) == "sorted" and bool(value.args) and isinstance(value.args[0], ast.Call) and called(value.args[0]) == "range"
    return target.id if isinstance(target, ast.Name) and (called(value) == "argsort" or by_number) else ""


def _is_tensor(value: ast.expr) -> bool:
    made = value.elts if isinstance(value, ast.Tuple) else [value]
    return all(isinstance(v, ast.Call) and called(v) in TENSORS for v in made)
