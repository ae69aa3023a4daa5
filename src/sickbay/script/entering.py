"""Where training's inputs come in: the line after which scaling them belongs, as far as the text of the script tells (see lineage.py)."""

from __future__ import annotations

import ast
from dataclasses import replace

from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Function, Source, called, source_at
from sickbay.script.guesses import guess
from sickbay.script.lineage import Lineage
from sickbay.script.naming import model_name
from sickbay.script.prepared import Statements, trained_on
from sickbay.script.statement_kinds import DRAWING, calls

TENSORS = frozenset({"from_numpy", "tensor", "as_tensor", "FloatTensor", "Tensor", "float", "astype", "ToTensor", "to_tensor"})
"""Calls after which the values are as the model will see them."""
ORDERS = DRAWING | {"arange"}
"""Calls that make an order of the samples, and nothing of what they hold."""
SCALING = frozenset({"transform", "fit_transform"})
SPLIT = frozenset({"train_test_split"})


@guess
def entered(record: Record) -> Place | None:
    """The split, if arrays are split by a call: only after it are training's mean and spread known. Else the line that makes tensors of the
    values, else the one that makes the values. None where the text does not tell."""
    for found in (given(record), trained_on(record)):
        place = chosen(found) if found is not None else None
        if place is not None:
            return place
    return None


def given(record: Record) -> Statements | None:
    """What the model's own arguments went through, from the line of the forward pass."""
    forward = record.facts.timeline.places.get("forward")
    source, name = source_at(record, forward), model_name(record, forward)
    if source is None or forward is None or not name:
        return None
    lineage = Lineage(source)
    for call in source.calls(line=forward.line):
        if source.segment(call.func) == name:
            return Statements(source, list(dict.fromkeys(s for a in call.args for s in lineage.of(a))))
    return None


@guess
def scaled_in_part(record: Record) -> Place | None:
    """`X[:, cols] = scaler.transform(X[:, cols])`, `frame[NUMERIC] = (frame[NUMERIC] - mean) / std`: the list of the columns that are scaled, where it is written out; else the
    line that scales them. What is missing from it enters as it is."""
    for found in (given(record), trained_on(record)):
        for statement in found.statements if found is not None else ():
            columns = _part_scaled(statement)
            if found is not None and columns is not None:
                listed = _written_out(found.source, columns)
                return replace(found.source.place(listed.lineno), guess=True) if listed is not None else found.place(statement)
    return None


def _part_scaled(statement: ast.stmt) -> ast.expr | None:
    """The columns among the targets of an assignment that scales them."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    if not isinstance(target, ast.Subscript) or not isinstance(statement, ast.Assign):
        return None
    scales = calls(statement, SCALING) or (isinstance(statement.value, ast.BinOp) and isinstance(statement.value.op, ast.Div))
    columns = target.slice.elts[-1] if isinstance(target.slice, ast.Tuple) and target.slice.elts else target.slice
    return columns if scales and isinstance(columns, (ast.Name, ast.List)) else None


def _written_out(source: Source, columns: ast.expr, deep: int = 0) -> ast.List | None:
    """The list behind a name, or behind `[names.index(c) for c in wanted]`."""
    if isinstance(columns, ast.List) or deep > 3:
        return columns if isinstance(columns, ast.List) else None
    if isinstance(columns, ast.ListComp):
        return _written_out(source, columns.generators[0].iter, deep + 1) if len(columns.generators) == 1 and not columns.generators[0].ifs else None
    if isinstance(columns, ast.Name):
        made = [s.value for s in ast.walk(source.tree) if isinstance(s, ast.Assign) and [ast.unparse(t) for t in s.targets] == [columns.id]]
        return _written_out(source, made[0], deep + 1) if len(made) == 1 else None
    return None


@guess
def divided(record: Record) -> Place | None:
    """The division by a number that the values meet last: where they are too small, that is one too many."""
    for found in (given(record), trained_on(record)):
        for statement in found.statements if found is not None else ():
            if found is not None and any(_divides(node) for node in ast.walk(statement)):
                return found.place(statement)
    return None


def undivided(record: Record, place: Place | None) -> str:
    """The diff that takes this division out again."""
    source = source_at(record, place)
    statement = source.statement(place.line) if source is not None and place is not None else None
    found = [n for n in ast.walk(statement) if isinstance(n, ast.BinOp) and _divides(n)] if statement is not None else []
    if source is None or len(found) != 1:
        return ""
    return source.diff(source.replacing(found[0], source.segment(found[0].left)))


def _divides(node: ast.AST) -> bool:
    """`x / 255`, `x.div(255)`, `x * (1 / 255)`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return _above_one(node.right)
    return isinstance(node, ast.Call) and called(node) in ("div", "div_", "divide", "true_divide") and any(_above_one(a) for a in node.args)


def _above_one(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and node.value > 1


def scaled_after(record: Record, place: Place | None) -> str:
    """The diff that standardises both parts after a split, in the names that it gives them."""
    source = source_at(record, place)
    split = source.statement(place.line) if source is not None and place is not None else None
    if source is None or not isinstance(split, ast.Assign) or not calls(split, SPLIT) or not isinstance(split.targets[0], ast.Tuple):
        return ""
    names = [source.segment(t) for t in split.targets[0].elts[:2]]
    if len(names) < 2:
        return ""
    train, rest = names
    return source.diff(
        source.after(split, f"mean, std = {train}.mean(0), {train}.std(0) + 1e-8"),
        source.after(split, f"{train}, {rest} = ({train} - mean) / std, ({rest} - mean) / std"),
    )


def chosen(found: Statements) -> Place | None:
    lines = [
        s for s in found.statements if isinstance(s, (ast.Assign, ast.AnnAssign, ast.Return)) and not found.source.loops(s) and not calls(s, ORDERS)
    ]
    made = [s for s in lines if not isinstance(s, ast.Return) and not _constructs(found.source, s) and not _loads(s)]
    for candidates in (
        [s for s in lines if calls(s, SPLIT)],
        [s for s in lines if calls(s, TENSORS) and not _constructs(found.source, s)],
        made,
    ):
        if candidates:
            return found.place(candidates[0])
    return None


def _constructs(source: Source, statement: ast.stmt) -> bool:
    """Inside `__init__`: it runs for training and evaluation alike, each with numbers of its own."""
    function = source.function(statement)
    return isinstance(function, Function) and function.name == "__init__"


def _loads(statement: ast.stmt) -> bool:
    return calls(statement, frozenset({"DataLoader"}))
