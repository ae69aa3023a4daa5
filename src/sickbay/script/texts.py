"""Whether an expression of the script is text, or holds text, as far as the script's own lines tell."""

from __future__ import annotations

import ast

from sickbay.script.bindings import Path, argument, bound, comprehended, element, own, parameters, position
from sickbay.script.fixing import Function, Source, called, receiver

METHODS = frozenset(
    "lower upper strip lstrip rstrip split splitlines read readlines join replace format title decode read_text capitalize findall hexdigest "
    "listdir glob iglob rglob iterdir basename dirname".split()
)
FUNCTIONS = frozenset({"str", "chr", "input", "open", "repr"})
PASSING = frozenset({"list", "set", "sorted", "tuple", "frozenset", "reversed", "iter", "dict", "Counter", "chain", "from_iterable"})
DRAWING = frozenset({"choice", "choices", "sample", "permutation"})
"""Calls of a generator that give some of what they are given."""
ADDING = frozenset({"append", "extend", "add", "insert", "update"})
COMBINING = frozenset({"union", "intersection", "difference", "symmetric_difference"})
PATHS = frozenset({"stem", "suffix", "name"})
"""What a path has, and is text."""
GROUPS = frozenset({"list", "tuple", "set", "Iterable", "Sequence", "Iterator", "Collection", "dict", "object", "Any"})
"""Notes on a parameter that leave open what it holds."""
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
        return _part(source, node.left, where, seen) or (isinstance(node.op, (ast.Add, ast.BitOr)) and _part(source, node.right, where, seen))
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
    if not rows:
        return False
    return _element(source, rows[0], where, seen) or (not _is_table(node) and _element(source, node, where, seen))


def _is_table(node: ast.expr) -> bool:
    return isinstance(node, ast.List) and all(isinstance(r, (ast.Tuple, ast.List)) for r in node.elts)


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
    if name in PASSING or (owner is not None and name in DRAWING) or (name == "sum" and len(call.args) > 1):
        return any(_part(source, a, where, seen) for a in call.args[:1])
    if name in COMBINING and owner is not None:
        return any(_part(source, a, where, seen) for a in (owner, *call.args))
    if name in ("map", "filter") and owner is None and len(call.args) > 1:
        return _mapped(source, call, where, seen)
    if name in ("items", "keys", "values") and owner is not None and not call.args:
        return _dealt(source, owner, name, where, seen)
    if where and owner is None and name == "enumerate":
        return where[0] == 1 and any(_part(source, a, where[1:], seen) for a in call.args[:1])
    if where and owner is None and name == "zip":
        at = where[0]
        return isinstance(at, int) and at < len(call.args) and _part(source, call.args[at], where[1:], seen)
    if not where and owner is None and name in FUNCTIONS:
        return True
    if not where and owner is not None and (name in METHODS or (name in ("copy", "elements") and _part(source, owner, (), seen))):
        return True
    made = [f for f in source.defined.get(name, ()) if isinstance(f, Function)]
    return any(isinstance(n, ast.Return) and n.value is not None and _element(source, n.value, where, seen) for f in made for n in own(f))


def _mapped(source: Source, call: ast.Call, where: Path, seen: Seen) -> bool:
    """`map(str.lower, words)`, `map(tokenize, texts)`, `filter(str.isalpha, words)`."""
    written = ast.unparse(call.args[0])
    if called(call) == "filter" or written in PASSING:
        return _part(source, call.args[1], where, seen)
    made = [f for f in source.defined.get(written, ()) if isinstance(f, Function)]
    if made:
        return any(isinstance(n, ast.Return) and n.value is not None and _element(source, n.value, where, seen) for f in made for n in own(f))
    if isinstance(call.args[0], ast.Lambda):
        return _element(source, call.args[0].body, where, seen)
    return not where and (written in FUNCTIONS or written.startswith("str."))


def _dealt(source: Source, owner: ast.expr, name: str, where: Path, seen: Seen) -> bool:
    """`counts.items()`: its keys first, its values second."""
    if name == "items":
        return bool(where) and where[0] in (0, 1) and _side(source, owner, int(where[0]), where[1:], seen)
    return _side(source, owner, int(name == "values"), where, seen) or (name == "keys" and _part(source, owner, where, seen))


def _side(source: Source, node: ast.expr, side: int, where: Path, seen: Seen) -> bool:
    """The keys (0) or the values (1) of a dictionary."""
    if (id(node), (side, "side", *where)) in seen:
        return False
    seen.add((id(node), (side, "side", *where)))
    if isinstance(node, ast.Dict):
        return any(_element(source, e, where, seen) for e in (node.values if side else node.keys)[:3] if e is not None)
    if isinstance(node, ast.DictComp):
        return _element(source, node.value if side else node.key, where, seen)
    if isinstance(node, ast.Call) and called(node) == "Counter":
        return side == 0 and any(_part(source, a, where, seen) for a in node.args[:1])
    if isinstance(node, ast.Call) and called(node) == "dict":
        return any(_part(source, a, (side, *where), seen) for a in node.args[:1])
    if not isinstance(node, ast.Name):
        return False
    for scope in (a for a in source.ancestors(node) if isinstance(a, Function | ast.Module)):
        for statement, value, at in bound(node.id, scope):
            entries = _entries(statement, side)
            if not at and entries is None and value is not None and _side(source, value, side, where, seen):
                return True
            if entries is not None and any(_element(source, e, where, seen) for e in entries):
                return True
    return False


def _entries(statement: ast.stmt | None, side: int) -> list[ast.expr] | None:
    """What `d[key] = value`, `counts[word] += 1`, `counts.update(words)` give to a dictionary's keys or values; None where the statement gives all of it."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target] if isinstance(statement, ast.AugAssign) else []
    for target in targets:
        if isinstance(target, ast.Subscript):
            return [statement.value if side else target.slice]  # type: ignore[union-attr]
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return statement.value.args[:1] if called(statement.value) == "update" and not side else []
    return None


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
                if (at := position(target, name, attribute=True)) is not None and _element(source, node.value, (*at, *where), seen):
                    return True
        elif isinstance(node, ast.Expr) and _adds(node) and isinstance(node.value, ast.Call):
            owner = receiver(node.value)
            if isinstance(owner, ast.Attribute) and owner.attr == name and any(_part(source, a, where, seen) for a in node.value.args[-1:]):
                return True
    return not where and name in PATHS and not _is_set(source, name)


def _is_set(source: Source, name: str) -> bool:
    """Some line of the script gives an attribute of this name a value: then it is no path's."""
    nodes = [n for n in ast.walk(source.tree) if isinstance(n, (ast.Attribute, ast.AnnAssign))]
    return any(isinstance(n.ctx, ast.Store) and n.attr == name if isinstance(n, ast.Attribute) else ast.unparse(n.target) == name for n in nodes)


def _name(source: Source, node: ast.Name, where: Path, seen: Seen) -> bool:
    if (inner := comprehended(source, node.id, node)) is not None:
        return inner[1] is not None and _part(source, inner[1], (*inner[2], *where), seen)
    for scope in (a for a in source.ancestors(node) if isinstance(a, Function | ast.Module)):
        found = [
            b
            for b in bound(node.id, scope)
            if not (isinstance(b[0], ast.AugAssign) and not _joins(b[0])) and (not isinstance(b[0], ast.Expr) or _adds(b[0]))
        ]
        if found:
            return any(value is not None and _either(source, value, at, where, seen) for _, value, at in found)
        if isinstance(scope, Function) and node.id in parameters(scope):
            return _parameter(source, scope, node.id, where, seen)
    return False


def _either(source: Source, value: ast.expr, at: Path, where: Path, seen: Seen) -> bool:
    """`a, b = one(), two()` gives what stands there, `for a, b in rows` an element of each row."""
    if not at and where and _is_table(value):
        return _rows(source, value, where, seen)
    return _element(source, value, (*at, *where), seen) or (bool(at) and _rows(source, value, (*at, *where), seen))


def _joins(statement: ast.AugAssign) -> bool:
    """`words |= set(line.split())`, `words += line.split()`."""
    return isinstance(statement.op, (ast.BitOr, ast.Add)) and isinstance(statement.target, ast.Name)


def _adds(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and called(statement.value) in ADDING


def _parameter(source: Source, function: ast.FunctionDef | ast.AsyncFunctionDef, name: str, where: Path, seen: Seen) -> bool:
    noted = next((a.annotation for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs) if a.arg == name), None)
    if noted is not None and ast.unparse(noted).rpartition(".")[2] not in GROUPS:
        return not where and "str" in ast.unparse(noted)
    owner = source.parents.get(function)
    method = isinstance(owner, ast.ClassDef)
    wanted = owner.name if isinstance(owner, ast.ClassDef) and function.name == "__init__" else function.name
    given = [argument(call, function, name, method) for call in source.calls(wanted)]
    return any(g is not None and not g[1] and _part(source, g[0], where, seen) for g in given)
