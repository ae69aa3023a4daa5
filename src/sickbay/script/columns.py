"""The line that puts one column among the inputs, where columns are put side by side by name (see lineage.py)."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from itertools import accumulate

from sickbay.nouns import Place
from sickbay.script.fixing import Edit, Source, called, receiver
from sickbay.script.guesses import guess
from sickbay.script.lineage import Lineage
from sickbay.script.prepared import Prepared
from sickbay.script.statement_kinds import BESIDE, inside

HANDING_ON = frozenset({"list", "tuple"})
ADDING = frozenset({"append", "extend", "update"})
MOVING = frozenset({"insert", "pop", "popitem", "remove", "sort", "reverse", "clear"})


@dataclass(frozen=True)
class ColumnAt:
    """One column as the script writes it."""

    source: Source
    columns: ast.List | ast.Tuple | ast.Dict
    """All of them."""
    number: int

    @property
    def node(self) -> ast.expr:
        """What stands for the column: the key of a dictionary, the element of a list."""
        return _written(self.columns)[self.number]

    @property
    def name(self) -> str:
        """ "account_no"; "" for what is no name."""
        node = self.node
        return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else node.id if isinstance(node, ast.Name) else ""

    @property
    def place(self) -> Place:
        """Where a column's values are made, if the text has a name for them; else where the column is listed."""
        made_here = (
            isinstance(self.node, ast.Call) and called(self.node) in self.source.defined
        )  # by a function of the script's, of what it is given here
        came = [s for s in Lineage(self.source).of(self.node) if isinstance(s, ast.Assign)] if not made_here else []
        return replace(self.source.place(came[0].lineno if came else self.node.lineno), guess=True)

    @property
    def listed(self) -> Place:
        """Where the columns are listed."""
        return replace(self.source.place(self.node.lineno), guess=True)

    def without(self) -> str:
        """The diff that leaves the column out; "" where other lines would have to change with it."""
        others = [e for i, e in enumerate(_written(self.columns)) if i != self.number]
        if isinstance(self.columns, ast.Dict):
            value = self.columns.values[self.number]
            alone = {self.node.lineno, value.end_lineno} == {value.lineno} and all(o.lineno != self.node.lineno for o in others)
            start, end = self.source.line_starts[self.node.lineno - 1 : self.node.lineno + 1]
            return self.source.diff(Edit(start, end, "")) if alone else ""
        if not isinstance(self.node, ast.Constant):
            return ""
        ends = ("[", "]") if isinstance(self.columns, ast.List) else ("(", ")")
        return self.source.diff(self.source.replacing(self.columns, ends[0] + ", ".join(self.source.segment(o) for o in others) + ends[1]))


@guess
def made_column(found: Prepared | None, column: int, columns: int) -> ColumnAt | None:
    """The column of this number, if the inputs went through a line that lists as many as there are, or those before what is added later."""
    for statement in found.inputs if found is not None else ():
        for node in inside(statement):
            listed = _listed(found.source, _side_by_side(node)) if found is not None else None
            if found is not None and listed is not None and _holds(found.source, listed, column, columns):
                return ColumnAt(found.source, listed, column)
    return None


@guess
def made_with_others(found: Prepared | None, column: int, columns: int) -> Place | None:
    """`columns = [x.shift(k) for k in range(n)]`, `columns += [a, b]`, `columns.append(c)`: the line that makes a column of this number along with others, if of all these lines one
    alone does not tell how many it makes."""
    for statement in found.inputs if found is not None else ():
        for node in inside(statement):
            name = _side_by_side(node) if isinstance(node, ast.Call) else None
            if found is not None and isinstance(name, ast.Name) and (line := _line_of_column(found.source, name, column, columns)):
                return replace(found.source.place(line), guess=True)
    return None


def _line_of_column(source: Source, name: ast.Name, column: int, columns: int) -> int | None:
    """The line among those that fill a list."""
    around = source.function(name)
    filling = [(s, v) for s in ast.walk(around) if isinstance(s, ast.stmt) and (v := _put_into(name.id, s)) is not None and s.lineno <= name.lineno]
    filling.sort(key=lambda f: f[0].lineno)
    begun = [isinstance(s, ast.Assign) for s, _ in filling] == [i == 0 for i in range(len(filling))]
    moved = {called(c) for c in source.calls(within=around) if (o := receiver(c)) is not None and ast.unparse(o) == name.id} - {"append", "extend"}
    counts = [_count(value) if source.loops(s) == source.loops(name) else None for s, value in filling]
    left = columns - sum(c for c in counts if c is not None)
    lists = all(isinstance(value, (ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp)) for _, value in filling)
    if not filling or not begun or not lists or moved or counts.count(None) > 1 or left < 0:
        return None
    ends = [*accumulate(left if c is None else c for c in counts)]
    return next((s.lineno for (s, _), end in zip(filling, ends, strict=True) if column < end), None) if ends[-1] == columns else None


def _put_into(name: str, statement: ast.stmt) -> ast.expr | None:
    """What a statement puts into a list of this name, as a list."""
    if isinstance(statement, ast.Assign) and [ast.unparse(t) for t in statement.targets] == [name]:
        return statement.value
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add) and ast.unparse(statement.target) == name:
        return statement.value
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and len(call.args) == 1 and (owner := receiver(call)) is not None and ast.unparse(owner) == name:
        return ast.List([call.args[0]]) if called(call) == "append" else call.args[0] if called(call) == "extend" else None
    return None


def _count(value: ast.expr) -> int | None:
    """How many elements a list is written with."""
    if not isinstance(value, (ast.List, ast.Tuple)) or any(isinstance(e, ast.Starred) for e in value.elts):
        return None
    return len(value.elts)


def _holds(source: Source, listed: ast.List | ast.Tuple | ast.Dict, column: int, columns: int) -> bool:
    written = len(_written(listed))
    return written == columns or (column < written < columns and _grows(source, listed))


def _grows(source: Source, listed: ast.expr) -> bool:
    """Others are put behind these, and nothing else is done to them: `table[name] = ...`, `columns.append(...)`, `columns += [...]`."""
    made = source.parents.get(listed)
    name = ast.unparse(made.targets[0]) if isinstance(made, ast.Assign) and len(made.targets) == 1 else ""
    done = {called(c) for c in source.calls() if (owner := receiver(c)) is not None and ast.unparse(owner) == name}
    put = [s for s in ast.walk(source.tree) if isinstance(s, ast.Assign) and any(_item_of(t, name) for t in s.targets)]
    joined = [s for s in ast.walk(source.tree) if isinstance(s, ast.AugAssign) and ast.unparse(s.target) == name]
    return bool(name) and bool(done & ADDING or put or joined) and not done & MOVING


def _item_of(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Subscript) and ast.unparse(target.value) == name


def _side_by_side(node: ast.AST) -> ast.expr | None:
    """What holds the columns: `torch.stack(columns, 1)`, `frame[columns]`."""
    if isinstance(node, ast.Call):
        return node.args[0] if called(node) in BESIDE and node.args else None
    return node.slice if isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Name, ast.List)) else None


def _listed(source: Source, node: ast.expr | None, deep: int = 0) -> ast.List | ast.Tuple | ast.Dict | None:
    """The list or dictionary as it is written, behind a name, a comprehension or `list(table.values())`."""
    if node is None or deep > 4:
        return None
    if isinstance(node, (ast.List, ast.Tuple, ast.Dict)):
        return node if len(_written(node)) > 1 else None
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return _listed(source, node.generators[0].iter, deep + 1) if len(node.generators) == 1 and not node.generators[0].ifs else None
    if isinstance(node, ast.Call):
        inner = receiver(node) if called(node) in ("values", "keys", "items") else node.args[0] if called(node) in HANDING_ON and node.args else None
        return _listed(source, inner, deep + 1)
    if isinstance(node, ast.Name):
        given = [s.value for s in ast.walk(source.tree) if isinstance(s, ast.Assign) and [ast.unparse(t) for t in s.targets] == [node.id]]
        return _listed(source, given[0], deep + 1) if len(given) == 1 else None
    return None


def _written(columns: ast.List | ast.Tuple | ast.Dict) -> list[ast.expr]:
    return [k for k in columns.keys if k is not None] if isinstance(columns, ast.Dict) else columns.elts
