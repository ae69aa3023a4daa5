"""A loop over the parts of a tensor, written as one call on the whole of it: as a diff where that is certain, else as an expression in the user's names."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass

from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Edit, Source, called, receiver, source_at
from sickbay.script.guesses import guess

GATHERING = ("cat", "stack", "concat", "vstack", "hstack")
REDUCING = frozenset("sum mean norm dot max min argmax argmin std var prod item any all float int".split())
NOT_MODELS = ("torch", "F", "nn", "np", "functional", "math")
Comprehension = ast.ListComp | ast.GeneratorExp


@dataclass(frozen=True)
class Rounds:
    """The loop, what changes from round to round, and what a round does."""

    source: Source
    loop: ast.For | Comprehension
    variables: dict[str, ast.expr | None]
    """Names that the loop sets: with the tensor whose parts they are, or None for a counter."""


@guess
def diff_of(record: Record, loop: Place | None) -> str | None:
    """The diff that calls the model once."""
    rounds = rounds_at(record, loop)
    if rounds is None:
        return None
    if isinstance(rounds.loop, ast.For):
        return _without_loop(rounds, rounds.loop)
    outer = rounds.source.parents.get(rounds.loop)
    if not (isinstance(outer, ast.Call) and called(outer) in GATHERING and outer.args[:1] == [rounds.loop]):
        return None
    once = _once(rounds, rounds.loop.elt)
    return rounds.source.diff(rounds.source.replacing(outer, once)) if once is not None else None


@guess
def expression_of(record: Record, loop: Place | None) -> str | None:
    """What the loop works out in each round, on the whole: `loss = criterion(model(x), y)`; only what a whole can be put into."""
    rounds = rounds_at(record, loop)
    if rounds is None:
        return None
    body = rounds.loop.body[-1] if isinstance(rounds.loop, ast.For) else None
    value = rounds.loop.elt if not isinstance(rounds.loop, ast.For) else _value(body)
    whole = _whole(rounds, value) if value is not None else None
    if whole is None or not _keeps_its_meaning(rounds, whole):
        return None
    name = _gathered_in(body) if body is not None else ""
    return f"{name} = {ast.unparse(whole)}" if name else ast.unparse(whole)


def _keeps_its_meaning(rounds: Rounds, whole: ast.expr) -> bool:
    """It calls something, nothing in it sums up what was a single part, and no loop around this one counts in it."""
    calls = [c for c in ast.walk(whole) if isinstance(c, ast.Call)]
    around = (_set_by(loop.target, loop.iter) for loop in rounds.source.loops(rounds.loop) if isinstance(loop, ast.For))
    outer = {name for variables in around for name, tensor in variables.items() if tensor is None}
    return bool(calls) and not any(called(c) in REDUCING for c in calls) and not outer & {n.id for n in ast.walk(whole) if isinstance(n, ast.Name)}


@guess
def pairs_of(record: Record, loop: Place | None) -> tuple[str, str] | None:
    """The two tensors that a loop within a loop takes its parts from: `a[i]` and `b[j]`."""
    source = source_at(record, loop)
    found = [n for n in ast.walk(source.tree) if isinstance(n, ast.For) and n.lineno == loop.line] if source is not None and loop is not None else []
    inner = found[0] if found else None
    around = [a for a in source.loops(inner) if isinstance(a, ast.For)] if source is not None and inner is not None else []
    if inner is None or not around:
        return None
    names = [ast.unparse(around[0].target), ast.unparse(inner.target)]
    parts = {ast.unparse(n.slice): ast.unparse(n.value) for n in ast.walk(inner) if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name)}
    return (parts[names[0]], parts[names[1]]) if all(n in parts for n in names) else None


def rounds_at(record: Record, place: Place | None) -> Rounds | None:
    source = source_at(record, place)
    if source is None or place is None:
        return None
    loops = [n for n in ast.walk(source.tree) if isinstance(n, (ast.For, ast.ListComp, ast.GeneratorExp)) and n.lineno == place.line]
    if len(loops) != 1:
        return None
    loop = loops[0]
    if not isinstance(loop, ast.For) and len(loop.generators) != 1:
        return None
    target, over = (loop.target, loop.iter) if isinstance(loop, ast.For) else (loop.generators[0].target, loop.generators[0].iter)
    variables = _set_by(target, over)
    return Rounds(source, loop, variables) if variables else None


def _set_by(target: ast.expr, over: ast.expr) -> dict[str, ast.expr | None]:
    """`i` of `range(n)`: a counter; `row` of `x`, `a, b` of `zip(x, y)`, `i, row` of `enumerate(x)`: parts."""
    if isinstance(target, ast.Name) and isinstance(over, ast.Call) and called(over) == "range" and len(over.args) == 1:
        return {target.id: None}
    if isinstance(target, ast.Name) and isinstance(over, (ast.Name, ast.Attribute)):
        return {target.id: over}
    if isinstance(target, ast.Tuple) and isinstance(over, ast.Call) and all(isinstance(t, ast.Name) for t in target.elts):
        given: list[ast.expr | None] = list(over.args) if called(over) == "zip" else [None, *over.args] if called(over) == "enumerate" else []
        if len(given) == len(target.elts):
            return {t.id: g for t, g in zip(target.elts, given, strict=True) if isinstance(t, ast.Name)}
    return {}


class _Widen(ast.NodeTransformer):
    """Parts become the whole: x[i], x[i:i+1], x[i].unsqueeze(0), x[i][None]."""

    def __init__(self, variables: dict[str, ast.expr | None]) -> None:
        self.variables = variables

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self.variables.get(node.id)) or node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if self._counts(node.slice):
            return node.value
        was_part = self._was_part(node.value)
        whole = self.generic_visit(node)
        if isinstance(whole, ast.Subscript) and was_part and isinstance(whole.slice, ast.Constant) and whole.slice.value is None:
            return whole.value
        return whole  # type: ignore[return-value]

    def visit_Call(self, node: ast.Call) -> ast.expr:
        owner = receiver(node)
        added = called(node) == "unsqueeze" and [ast.unparse(a) for a in node.args] == ["0"]
        if owner is not None and added and self._was_part(owner):
            return self.visit(owner)  # type: ignore[no-any-return]
        return self.generic_visit(node)  # type: ignore[return-value]

    def _was_part(self, node: ast.expr) -> bool:
        return (isinstance(node, ast.Subscript) and self._counts(node.slice)) or (
            isinstance(node, ast.Name) and self.variables.get(node.id) is not None
        )

    def _counts(self, index: ast.expr) -> bool:
        """`i`, `i:i+1`."""
        if isinstance(index, ast.Name):
            return index.id in self.variables and self.variables[index.id] is None
        if isinstance(index, ast.Slice) and isinstance(index.lower, ast.Name) and index.upper is not None and index.step is None:
            return self._counts(index.lower) and ast.unparse(index.upper) == f"{index.lower.id} + 1"
        return False


def _whole(rounds: Rounds, value: ast.expr) -> ast.expr | None:
    """The expression on whole tensors; None if something of a single round is left in it."""
    whole = _Widen(rounds.variables).visit(copy.deepcopy(value))
    left = {n.id for n in ast.walk(whole) if isinstance(n, ast.Name)} & set(rounds.variables)
    return whole if not left else None


def _once(rounds: Rounds, value: ast.expr) -> str | None:
    """One call of a model on the whole, where a round does nothing but call it."""
    whole = _whole(rounds, value)
    if not isinstance(whole, ast.Call) or not isinstance(whole.func, (ast.Name, ast.Attribute)):
        return None
    plain = all(isinstance(a, (ast.Name, ast.Attribute)) for a in whole.args) and not whole.keywords
    return ast.unparse(whole) if plain and whole.args and ast.unparse(whole.func).partition(".")[0] not in NOT_MODELS else None


def _without_loop(rounds: Rounds, loop: ast.For) -> str | None:
    """`out = []`, a loop that only appends, and `pred = torch.cat(out)` become `pred = model(x)`."""
    source, body = rounds.source, loop.body[0]
    name = _appended_to(body) if len(loop.body) == 1 and not loop.orelse else ""
    once = _once(rounds, _value(body) or loop.iter) if name else None
    gathered = [c for c in source.calls(*GATHERING, within=source.function(loop)) if c.args and ast.unparse(c.args[0]) == name]
    block = source.block(loop)
    empty = [s for s in block[: block.index(loop)] if isinstance(s, ast.Assign) and ast.unparse(s) == f"{name} = []"]
    uses = [n for n in ast.walk(source.function(loop)) if isinstance(n, ast.Name) and n.id == name]
    if once is None or len(gathered) != 1 or len(empty) != 1 or len(uses) != 3:
        return None
    return source.diff(_removing(source, empty[0]), _removing(source, loop), source.replacing(gathered[0], once))


def _removing(source: Source, statement: ast.stmt) -> Edit:
    """Without its lines."""
    return Edit(source.line_starts[statement.lineno - 1], source.line_starts[statement.end_lineno or statement.lineno], "")


def _value(statement: ast.stmt | None) -> ast.expr | None:
    """What a round adds: the argument of `append`, what is added to a sum, what is stored."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and called(statement.value) == "append":
        return statement.value.args[0] if statement.value.args else None
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        return statement.value
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        value, name = statement.value, ast.unparse(statement.targets[0])
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add) and name in (ast.unparse(value.left), ast.unparse(value.right)):
            return value.right if ast.unparse(value.left) == name else value.left
        return value if isinstance(statement.targets[0], ast.Subscript) else None
    return None


def _appended_to(statement: ast.stmt) -> str:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and called(statement.value) == "append":
        owner = receiver(statement.value)
        return owner.id if isinstance(owner, ast.Name) else ""
    return ""


def _gathered_in(statement: ast.stmt) -> str:
    """The name that the rounds are gathered in."""
    if isinstance(statement, (ast.Assign, ast.AugAssign)):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        inner = target.value if isinstance(target, ast.Subscript) else target
        return ast.unparse(inner) if isinstance(inner, (ast.Name, ast.Attribute)) else ""
    return _appended_to(statement)
