"""Whether an expression of the script is text, or holds text, as far as the script's own lines tell."""

from __future__ import annotations

import ast

from sickbay.script.bindings import Path, argument, bound, comprehended, element, own, parameters, position
from sickbay.script.fixing import Function, Source, called, receiver

METHODS = frozenset(
    "lower upper strip lstrip rstrip split splitlines read readlines join replace format title decode read_text capitalize findall hexdigest".split()
)
FUNCTIONS = frozenset({"str", "chr", "input", "open", "repr"})
PASSING = frozenset({"list", "set", "sorted", "tuple", "frozenset", "reversed", "iter", "dict", "Counter", "chain", "from_iterable"})
DRAWING = frozenset({"choice", "choices", "sample", "permutation"})
"""Calls of a generator that give some of what they are given."""
ADDING = frozenset({"append", "extend", "add", "insert"})
Seen = set[tuple[int, Path]]
"""Expressions that were asked already, and for which part: that one of them is asked again tells nothing new, and scripts go in circles (`rows = rows + more`)."""


def holds_text(source: Source, node: ast.expr | None, seen: Seen | None = None) -> bool:
    """A string, or something that strings come out of. False where the lines do not tell."""
    return _part(source, node, (), set() if seen is None else seen)


def _part(source: Source, node: ast.expr | None, where: Path, seen: Seen) -> bool:
    """One element of a row (or of each of the rows) that the expression gives; the whole of it where no element is asked for."""
    if node is None or (id(node), where) in seen:
        return False
    seen.add((id(node), where))
    if isinstance(node, ast.Call):
        return _call(source, node, where, seen)
    if isinstance(node, ast.Name):
        return _name(source, node, where, seen)
    if isinstance(node, ast.Attribute):
        return _attribute(source, node.attr, where, seen)
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        return _element(source, node.elt, where, seen)
    if isinstance(node, ast.BinOp):
        return _part(source, node.left, where, seen) or (isinstance(node.op, ast.Add) and _part(source, node.right, where, seen))
    if isinstance(node, ast.Subscript):
        return _taken(source, node, where, seen)
    return _rows(source, node, where, seen) if where else _whole(source, node, seen)


def _whole(source: Source, node: ast.expr, seen: Seen) -> bool:
    if isinstance(node, (ast.Constant, ast.JoinedStr)):
        return isinstance(node, ast.JoinedStr) or isinstance(node.value, str)
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return any(_part(source, e, (), seen) for e in node.elts[:3])
    if isinstance(node, (ast.Dict, ast.DictComp)):
        keys = node.keys[:3] if isinstance(node, ast.Dict) else [node.key]
        return any(_part(source, k, (), seen) for k in keys)
    return isinstance(node, ast.Starred) and _part(source, node.value, (), seen)


def _rows(source: Source, node: ast.expr, where: Path, seen: Seen) -> bool:
    """`[("a", 0), ("b", 1)]`: of its first row; `"a", 0`: of itself."""
    rows = node.elts if isinstance(node, (ast.List, ast.Tuple)) else []
    return bool(rows) and (_element(source, rows[0], where, seen) or _element(source, node, where, seen))


def _element(source: Source, node: ast.expr, where: Path, seen: Seen) -> bool:
    """As much of the path as is written out, and what is left of it in what stands there (`a, b = corpus(9), corpus(3)`, and rows of the first)."""
    at, left = node, where
    while left and isinstance(at, (ast.Tuple, ast.List)):
        inner = element(at, left[:1])
        if inner is None:
            return False
        at, left = inner, left[1:]
    return _part(source, at, left, seen)


def _call(source: Source, call: ast.Call, where: Path, seen: Seen) -> bool:
    owner, name = receiver(call), called(call)
    if name in PASSING or (owner is not None and name in DRAWING):
        return any(_part(source, a, where, seen) for a in call.args[:1])
    if where and owner is None and name == "enumerate":
        return where[0] == 1 and any(_part(source, a, where[1:], seen) for a in call.args[:1])
    if where and owner is None and name == "zip":
        at = where[0]
        return isinstance(at, int) and at < len(call.args) and _part(source, call.args[at], where[1:], seen)
    if not where and owner is None and name in FUNCTIONS:
        return True
    if not where and owner is not None and (name in METHODS or (name in ("keys", "copy", "elements") and _part(source, owner, (), seen))):
        return True
    made = [f for f in source.defined.get(name, ()) if isinstance(f, Function)]
    return any(isinstance(n, ast.Return) and n.value is not None and _element(source, n.value, where, seen) for f in made for n in own(f))


def _taken(source: Source, node: ast.Subscript, where: Path, seen: Seen) -> bool:
    """`rows[:100]`, `words[3]`; of a dictionary that is written out, what stands under its keys."""
    written = _dictionary(source, node.value)
    if written is not None:
        return any(_part(source, v, where, seen) for v in written.values[:3])
    return _part(source, node.value, where, seen) if not where or isinstance(node.slice, ast.Slice) else False


def _dictionary(source: Source, node: ast.expr) -> ast.Dict | None:
    if isinstance(node, ast.Name):
        values = [
            v for scope in source.ancestors(node) if isinstance(scope, Function | ast.Module) for _, v, where in bound(node.id, scope) if not where
        ]
        node = values[0] if len(values) == 1 and values[0] is not None else node
    return node if isinstance(node, ast.Dict) else None


def _attribute(source: Source, name: str, where: Path, seen: Seen) -> bool:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if (at := position(target, name, attribute=True)) is not None:
                    return _element(source, node.value, (*at, *where), seen)
    return False


def _name(source: Source, node: ast.Name, where: Path, seen: Seen) -> bool:
    if (inner := comprehended(source, node.id, node)) is not None:
        return inner[1] is not None and _part(source, inner[1], (*inner[2], *where), seen)
    for scope in (a for a in source.ancestors(node) if isinstance(a, Function | ast.Module)):
        found = [b for b in bound(node.id, scope) if not isinstance(b[0], ast.AugAssign) and (not isinstance(b[0], ast.Expr) or _adds(b[0]))]
        if found:
            return any(value is not None and _either(source, value, at, where, seen) for _, value, at in found)
        if isinstance(scope, Function) and node.id in parameters(scope):
            return _parameter(source, scope, node.id, where, seen)
    return False


def _either(source: Source, value: ast.expr, at: Path, where: Path, seen: Seen) -> bool:
    """`a, b = one(), two()` gives what stands there, `for a, b in rows` an element of each row."""
    return _element(source, value, (*at, *where), seen) or (bool(at) and _rows(source, value, (*at, *where), seen))


def _adds(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and called(statement.value) in ADDING


def _parameter(source: Source, function: ast.FunctionDef | ast.AsyncFunctionDef, name: str, where: Path, seen: Seen) -> bool:
    noted = next((a.annotation for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs) if a.arg == name), None)
    if noted is not None:
        return not where and "str" in ast.unparse(noted)
    owner = source.parents.get(function)
    method = isinstance(owner, ast.ClassDef)
    wanted = owner.name if isinstance(owner, ast.ClassDef) and function.name == "__init__" else function.name
    given = [argument(call, function, name, method) for call in source.calls(wanted)]
    return any(g is not None and not g[1] and _part(source, g[0], where, seen) for g in given)
