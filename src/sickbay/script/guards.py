"""What keeps an operation of the user's script away from zero, as far as the text tells: numbers, bounds, questions that were asked before."""

from __future__ import annotations

import ast

from sickbay.script.fixing import Function, Source, called, is_number, receiver
from sickbay.script.statement_kinds import named_in
from sickbay.script.worked_out import DRAWS, Trail

GUARDING = frozenset(
    {"clamp", "clip", "clamp_min", "maximum", "where", "nan_to_num", "exp", "softplus", "softmax", "sigmoid", "len", "size", "fillna"}
)
WHOLE = frozenset({"abs", "sqrt", "float", "tensor", "as_tensor", "from_numpy", "reshape", "view", "unsqueeze", "to", "astype", "item"})
"""Calls after which zero is still zero."""
HARMLESS = frozenset("len range float int sqrt log log2 exp parse_args add_argument ArgumentParser round array tensor arange linspace ones".split())
"""Calls that give numbers for numbers."""
HARMLESS_NODES = (ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp, ast.Attribute, ast.Tuple, ast.List, ast.Dict, ast.Subscript, ast.stmt)
MODULES = frozenset({"np", "numpy", "torch", "F", "functional", "pd", "pandas"})


def guarded(trail: Trail, node: ast.expr, deep: int = 0) -> bool:
    """`x + 1e-8`, `x.clamp_min(1)`, `np.maximum(x, 1)`, or a name that was given such a value."""
    if deep > 4:
        return False
    if isinstance(node, ast.IfExp):
        return True
    if isinstance(node, ast.BoolOp):
        return isinstance(node.op, ast.Or)
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Add):
            return any(numeric(trail, side) and not _zero(side) for side in (node.left, node.right))
        if isinstance(node.op, ast.Sub):
            return is_number(node.left) and _drawn(node.right)
        sides = (node.left,) if isinstance(node.op, ast.Pow) else (node.left, node.right)
        return all(guarded(trail, side, deep + 1) or (numeric(trail, side) and not _zero(side)) for side in sides)
    if isinstance(node, ast.Call):
        return _guarding(trail, node, deep)
    if isinstance(node, ast.Subscript):
        return guarded(trail, node.value, deep + 1)
    return isinstance(node, (ast.Name, ast.Attribute)) and any(_guards_name(trail, s, v, deep) for s, v in given_to(trail, node))


def _guarding(trail: Trail, call: ast.Call, deep: int) -> bool:
    name, owner = called(call), receiver(call)
    if name in GUARDING or _drawn(call):
        return True
    if name in ("max", "min") and owner is None:  # max(rpm, 0.1), the language's own
        return any(is_number(a) and not _zero(a) for a in call.args)
    inner = [owner] if owner is not None and ast.unparse(owner) not in MODULES else call.args[:1]
    return name in WHOLE and any(guarded(trail, i, deep + 1) for i in inner)


def _guards_name(trail: Trail, statement: ast.stmt, value: ast.expr, deep: int) -> bool:
    """`std = np.maximum(...)`; `std[std == 0] = 1`."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    put = [t for t in targets if isinstance(t, ast.Subscript) and any(isinstance(n, ast.Compare) for n in ast.walk(t.slice))]
    if isinstance(statement, ast.AugAssign):
        return isinstance(statement.op, ast.Add) and is_number(value)
    return (bool(put) and is_number(value) and not _zero(value)) or (not put and guarded(trail, value, deep + 1))


def given_to(trail: Trail, node: ast.expr) -> list[tuple[ast.stmt, ast.expr]]:
    """The statements that give a name or an attribute its value in this function or class, with the part that is given."""
    text, scope = ast.unparse(node), trail.source.function(node)
    if isinstance(node, ast.Attribute):
        scope = next((a for a in trail.source.ancestors(node) if isinstance(a, ast.ClassDef)), scope)
    found: list[tuple[ast.stmt, ast.expr]] = []
    for s in ast.walk(scope):
        if isinstance(s, ast.AugAssign) and ast.unparse(s.target) == text:
            found.append((s, s.value))
        if isinstance(s, ast.Assign):
            found += [(s, v) for t in s.targets for part, v in _pairs(t, s.value) if ast.unparse(part) == text]
    return found


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """What is given to what: `mean, std = x.mean(0), x.std(0)`; of `std[flat] = 1`, to `std`."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=False))
    return [(target.value if isinstance(target, ast.Subscript) else target, value)]


def _drawn(node: ast.expr) -> bool:
    """A continuous random number is not zero."""
    return isinstance(node, ast.Call) and called(node) in DRAWS - {"poisson", "randint", "integers", "choice", "binomial", "bernoulli", "multinomial"}


def _zero(node: ast.expr) -> bool:
    return is_number(node) and node.value == 0


def numeric(trail: Trail, node: ast.expr) -> bool:
    """A number that somebody wrote down, or a count: nothing of it comes from data."""
    if isinstance(node, ast.Name) and node.id.isupper():
        return True
    reached = trail.other.behind(node)
    unknown = [n for n in reached if isinstance(n, ast.Call) and called(n) not in HARMLESS]
    ends = any(isinstance(n, (ast.Constant, ast.stmt)) or (isinstance(n, ast.Call) and called(n) in HARMLESS) for n in reached)
    return not unknown and all(isinstance(n, (*HARMLESS_NODES, ast.Call)) for n in reached) and (ends or not reached)


def kept_off(source: Source, node: ast.AST, operand: ast.expr) -> bool:
    """`a / b if b > 0 else 0`, `if b > 0: ...`, `np.where(b > 0, a / b, 0)`: asked before."""
    names = named_in(operand)
    for around in source.ancestors(node):
        if isinstance(around, (Function, ast.ClassDef)):
            return False
        if isinstance(around, (ast.If, ast.IfExp)) and names & named_in(around.test) - {"self"}:
            return True
        if isinstance(around, ast.Call) and called(around) in ("where", "nan_to_num", "fillna"):
            return True
    return False
