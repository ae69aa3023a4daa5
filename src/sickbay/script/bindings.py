"""Where the names of a script get their values, as its text shows it: assignments, loops, comprehensions, parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sickbay.script.fixing import Function, Source, receiver

Path = tuple[int | str, ...]
"""Which element of a tuple, or what under which key of a dictionary, of an element of it... the value is."""
Binding = tuple[ast.stmt | None, ast.expr | None, Path]
"""The statement that gives a name its value, the value, and which element of it."""
Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


def bound(name: str, scope: ast.AST) -> Iterator[Binding]:
    """Where the name gets a value in a function or module, or what it holds is changed: the statement, the value, and which element of it."""
    for node in own(scope):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id == name:
                    yield node, node.value, ()
                elif (where := position(target, name)) is not None:
                    yield node, node.value, where
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign)) and root(node.target) == name:
            yield node, node.value, ()
        elif isinstance(node, ast.For) and (where := position(node.target, name)) is not None:
            yield node, node.iter, where
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            # np.random.shuffle(y), y.sort(), names.append(...)
            call = node.value
            if root(call.args[0] if call.args else None) == name or root(receiver(call)) == name:
                yield node, call.args[0] if call.args and root(receiver(call)) == name else None, ()


def comprehended(source: Source, name: str, near: ast.AST) -> Binding | None:
    """The `for` of a comprehension around a node that gives the name its value: nothing outside of it counts then."""
    for around in source.ancestors(near):
        for generator in around.generators if isinstance(around, Comprehension) else ():
            if (where := position(generator.target, name)) is not None:
                return None, generator.iter, where
    return None


def within_loop(source: Source, near: ast.AST, found: list[Binding]) -> list[Binding]:
    """Inside a loop that gives the name its value, only that loop and what its body does to it: other loops may use the same name for other things."""
    around = list(source.ancestors(near))
    loops = [b[0] for b in found if isinstance(b[0], ast.For) and b[0] in around]
    if not loops:
        return found
    inner = min(loops, key=around.index)
    return [b for b in found if b[0] is inner or (b[0] is not None and inner in source.ancestors(b[0]))]


def own(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function or module without those of functions and classes inside it, in the order of the text."""
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, Function | ast.ClassDef):
            yield child
            yield from own(child)


def position(target: ast.expr, name: str, attribute: bool = False) -> Path | None:
    """Where a name stands among the targets of an assignment."""
    if isinstance(target, ast.Starred):
        target = target.value
    if isinstance(target, (ast.Tuple, ast.List)):
        for i, element in enumerate(target.elts):
            if (inside := position(element, name, attribute)) is not None:
                return (i, *inside)
        return None
    if attribute:
        while isinstance(target, ast.Subscript):  # self.x[i] = ...
            target = target.value
        return () if isinstance(target, ast.Attribute) and target.attr == name else None
    return () if isinstance(target, ast.Name) and target.id == name else None


def element(value: ast.expr | None, path: Path) -> ast.expr | None:
    """The part of `A(1), B(2)` that a path leads to."""
    for at in path:
        if not isinstance(value, (ast.Tuple, ast.List)) or not isinstance(at, int) or at >= len(value.elts):
            return None
        value = value.elts[at]
    return value


def root(node: ast.expr | None) -> str:
    """The name at the bottom of `y[mask]` or `y.values`."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def parameters(function: ast.AST) -> list[str]:
    arguments = getattr(function, "args", None)
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)] if isinstance(arguments, ast.arguments) else []


def argument(call: ast.Call, function: ast.FunctionDef | ast.AsyncFunctionDef, name: str, method: bool) -> tuple[ast.expr, Path] | None:
    """What a call gives to one of a function's parameters, and which element of it."""
    named = parameters(function)
    at = named.index(name) - (1 if method and named[:1] == ["self"] else 0)
    spread = next((i for i, a in enumerate(call.args[: at + 1]) if isinstance(a, ast.Starred)), None)
    if (keyword := next((k for k in call.keywords if k.arg == name), None)) is not None:
        return keyword.value, ()
    if spread is not None:
        return call.args[spread].value, (at - spread,)  # type: ignore[attr-defined]
    return (call.args[at], ()) if 0 <= at < len(call.args) else None


def number(path: Path) -> int | None:
    """Which element of a tuple a path asks for first."""
    return path[0] if path and isinstance(path[0], int) else None


def under_key(statement: ast.stmt | None, path: Path) -> Path | None:
    """What is left of a path behind `batch["image"] = ...`; None if it asks for what is under another key."""
    keys = [t.slice for t in statement.targets if isinstance(t, ast.Subscript)] if isinstance(statement, ast.Assign) else []
    named = [k.value for k in keys if isinstance(k, ast.Constant) and isinstance(k.value, str)]
    if not named or not path or not isinstance(path[0], str):
        return path
    return path[1:] if path[0] in named else None
