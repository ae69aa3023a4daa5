"""Whether an expression of the script is text, or holds text, as far as the script's own lines tell."""

from __future__ import annotations

import ast

from sickbay.script.bindings import argument, bound, comprehended, element, own, parameters, position
from sickbay.script.fixing import Function, Source, called, receiver

METHODS = frozenset(
    "lower upper strip lstrip rstrip split splitlines read readlines join replace format title decode read_text capitalize findall hexdigest".split()
)
FUNCTIONS = frozenset({"str", "chr", "input", "open", "repr"})
PASSING = frozenset({"list", "set", "sorted", "tuple", "frozenset", "reversed", "iter", "dict", "Counter", "chain", "from_iterable"})
DEEPEST = 8


def holds_text(source: Source, node: ast.expr | None, depth: int = 0) -> bool:
    """A string, or something that strings come out of. False where the lines do not tell."""
    if node is None or depth > DEEPEST:
        return False
    if isinstance(node, (ast.Constant, ast.JoinedStr)):
        return isinstance(node, ast.JoinedStr) or isinstance(node.value, str)
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return any(holds_text(source, e, depth + 1) for e in node.elts[:3])
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        return holds_text(source, node.elt, depth + 1)
    if isinstance(node, (ast.Dict, ast.DictComp)):
        keys = node.keys[:3] if isinstance(node, ast.Dict) else [node.key]
        return any(holds_text(source, k, depth + 1) for k in keys)
    if isinstance(node, ast.BinOp):
        return holds_text(source, node.left, depth + 1) or (isinstance(node.op, ast.Add) and holds_text(source, node.right, depth + 1))
    if isinstance(node, (ast.Subscript, ast.Starred)):
        return holds_text(source, node.value, depth + 1)
    if isinstance(node, ast.Call):
        return _call(source, node, depth + 1)
    if isinstance(node, ast.Attribute):
        return _attribute(source, node.attr, depth + 1)
    return _name(source, node, depth + 1) if isinstance(node, ast.Name) else False


def _call(source: Source, call: ast.Call, depth: int) -> bool:
    owner, name = receiver(call), called(call)
    if name in PASSING:
        return any(holds_text(source, a, depth) for a in call.args[:1])
    if owner is None and name in FUNCTIONS:
        return True
    if owner is not None and (name in METHODS or (name in ("keys", "copy", "elements") and holds_text(source, owner, depth))):
        return True
    made = [f for f in source.defined.get(name, ()) if isinstance(f, Function)]
    return any(isinstance(n, ast.Return) and holds_text(source, n.value, depth) for f in made for n in own(f))


def _attribute(source: Source, name: str, depth: int) -> bool:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Attribute) and position(t, name, attribute=True) is not None for t in node.targets):
            return holds_text(source, node.value, depth)
    return False


def _name(source: Source, node: ast.Name, depth: int) -> bool:
    if (inner := comprehended(source, node.id, node)) is not None:
        return _part(source, inner[1], inner[2], depth)
    for scope in (a for a in source.ancestors(node) if isinstance(a, Function | ast.Module)):
        found = [b for b in bound(node.id, scope) if not isinstance(b[0], (ast.Expr, ast.AugAssign))]
        if found:
            return any(_part(source, value, where, depth) for _, value, where in found)
        if isinstance(scope, Function) and node.id in parameters(scope):
            return _parameter(source, scope, node.id, depth)
    return False


def _part(source: Source, value: ast.expr | None, where: tuple[int | str, ...], depth: int) -> bool:
    """One element of a row, only where rows are written out."""
    if not where:
        return holds_text(source, value, depth)
    rows = value.elts if isinstance(value, (ast.List, ast.Tuple)) else []
    if isinstance(value, ast.Call) and called(value) == "enumerate" and where == (1,):
        return holds_text(source, value.args[0], depth)
    return bool(rows) and (holds_text(source, element(rows[0], where), depth) or holds_text(source, element(value, where), depth))


def _parameter(source: Source, function: ast.FunctionDef | ast.AsyncFunctionDef, name: str, depth: int) -> bool:
    noted = next((a.annotation for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs) if a.arg == name), None)
    if noted is not None:
        return "str" in ast.unparse(noted)
    owner = source.parents.get(function)
    method = isinstance(owner, ast.ClassDef)
    wanted = owner.name if isinstance(owner, ast.ClassDef) and function.name == "__init__" else function.name
    given = [argument(call, function, name, method) for call in source.calls(wanted)]
    return any(g is not None and not g[1] and holds_text(source, g[0], depth) for g in given)
