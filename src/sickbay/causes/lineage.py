"""Where a value in the user's script comes from: the statements it went through, followed back through assignments, loops, loaders, data sets and functions.

This reads the text only, so it is a guess about what runs: causes use it to point at a likelier line, never to decide whether something is wrong.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sickbay.causes.fixing import Function, Source, called, receiver

Path = tuple[int, ...]
"""Which element of a tuple, of an element of it... the value is."""
Binding = tuple[ast.stmt | None, ast.expr | None, Path]
"""The statement that gives a name its value, the value, and which element of it."""
DEEPEST = 40
THROUGH = frozenset({"DataLoader", "Subset", "random_split", "tqdm", "iter", "next", "list", "tuple", "cycle", "islice", "trange", "prepare"})
"""Calls that hand on the elements of their first argument."""
SIDE_BY_SIDE = frozenset({"TensorDataset", "zip", "StackDataset"})
SIZES = frozenset({"len", "range", "size"})
"""Calls that give nothing of what their argument holds."""
PAIRS = frozenset({"train_test_split"})
"""Calls that give two of each argument."""


class Lineage:
    """Of the values in one file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.functions: dict[str, list[ast.AST]] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        self.imported: set[str] = set()
        for node in ast.walk(source.tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self.imported |= {(a.asname or a.name).partition(".")[0] for a in node.names}
            if isinstance(node, Function):
                self.functions.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.ClassDef):
                self.classes[node.name] = node

    def of(self, value: ast.expr) -> list[ast.stmt]:
        """The statements that a value went through, the nearest first."""
        self._met: set[tuple[int, Path]] = set()
        return list(dict.fromkeys(self._value(value, (), 0)))

    # -- values -------------------------------------------------------------------------------------------------

    def _value(self, node: ast.AST | None, path: Path, depth: int) -> Iterator[ast.stmt]:
        if node is None or depth > DEEPEST or (id(node), path) in self._met:
            return
        self._met.add((id(node), path))
        depth += 1
        if isinstance(node, ast.Name):
            if node.id not in self.imported:
                yield from self._name(node.id, node, path, depth)
        elif isinstance(node, ast.Attribute):
            yield from self._attribute(node, path, depth)
        elif isinstance(node, ast.Call):
            yield from self._call(node, path, depth)
        elif isinstance(node, ast.Subscript):
            number = node.slice.value if isinstance(node.slice, ast.Constant) else None
            yield from self._value(node.value, (number, *path) if isinstance(number, int) and number >= 0 else path, depth)
            if isinstance(node.slice, (ast.Name, ast.Subscript, ast.Attribute, ast.Call)):
                yield from self._value(node.slice, (), depth)
        elif isinstance(node, (ast.Tuple, ast.List)):
            chosen = node.elts[path[0] : path[0] + 1] if path and path[0] < len(node.elts) else node.elts
            for element in chosen:
                yield from self._value(element, path[1:], depth)
        elif isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            yield from self._value(node.elt, path, depth)
            used = {n.id for n in ast.walk(node.elt) if isinstance(n, ast.Name)}
            for generator in node.generators:
                if not used & {n.id for n in ast.walk(generator.target) if isinstance(n, ast.Name)}:  # else the name leads there
                    yield from self._value(generator.iter, (), depth)
        elif isinstance(node, ast.expr):
            for child in ast.iter_child_nodes(node):
                yield from self._value(child, path, depth)

    def _call(self, call: ast.Call, path: Path, depth: int) -> Iterator[ast.stmt]:
        name, owner = called(call), receiver(call)
        if name in SIZES:
            return
        if name == "enumerate" and call.args:
            yield from self._value(call.args[0], path[1:] if path[:1] == (1,) else path, depth)
        elif name in THROUGH and name not in self.functions and call.args:
            yield from self._value(call.args[0], path if name != "random_split" else path[1:], depth)
        elif name == "map" and len(call.args) == 2:
            yield from self._value(call.args[1], path, depth)
        elif name in SIDE_BY_SIDE and path and path[0] < len(call.args):
            yield from self._value(call.args[path[0]], path[1:], depth)
        elif name in PAIRS and path and path[0] // 2 < len(call.args):
            yield from self._value(call.args[path[0] // 2], path[1:], depth)
        elif name in self.classes and not isinstance(owner, ast.Call):
            yield from self._instance(call, self.classes[name], path, depth)
        elif name in self.functions:
            for function in self.functions[name]:
                yield from self._returned(function, path, depth)
            yield from self._made(owner)
        else:
            # A method gives back what it is called on, changed; a library's function what it is given.
            for given in (*([owner] if owner is not None else []), *call.args):
                yield from self._value(given, path if given is owner else (), depth)

    def _instance(self, call: ast.Call, kind: ast.ClassDef, path: Path, depth: int) -> Iterator[ast.stmt]:
        """An element of a data set of the user's own: what `__getitem__` or `__iter__` gives."""
        gives = [f for f in kind.body if isinstance(f, Function) and f.name in ("__getitem__", "__iter__")]
        for function in gives:
            yield from self._returned(function, path, depth)
        for argument in (*call.args, *(k.value for k in call.keywords)) if not gives else ():
            yield from self._value(argument, (), depth)

    def _returned(self, function: ast.AST, path: Path, depth: int) -> Iterator[ast.stmt]:
        for node in ast.walk(function):
            if isinstance(node, (ast.Return, ast.Yield)) and node.value is not None and self.source.function(node) is function:
                if isinstance(node, ast.Return):
                    yield node
                yield from self._value(node.value, path, depth)

    # -- names --------------------------------------------------------------------------------------------------

    def _name(self, name: str, near: ast.AST, path: Path, depth: int) -> Iterator[ast.stmt]:
        scope: ast.AST | None = near
        while scope is not None:
            scope = next((a for a in self.source.ancestors(scope) if isinstance(a, Function | ast.Module)), None)
            if scope is None:
                return
            found = self._before(near, scope, list(self._bound(name, scope))[::-1])
            for statement, value, where in found:
                if statement is not None:
                    yield statement
                yield from self._value(value, (*where, *path), depth)
            if isinstance(scope, Function) and name in _parameters(scope):
                for argument, where in self._given(scope, name):
                    yield from self._value(argument, (*where, *path), depth)
                return
            if found:
                return

    def _before(self, near: ast.AST, scope: ast.AST, found: list[Binding]) -> list[Binding]:
        """Without what happens only later: below the line that uses the name, in the same function, and in no loop around both."""
        here = next((a for a in self.source.ancestors(near) if isinstance(a, Function | ast.Module)), None)
        loops = [a for a in self.source.ancestors(near) if isinstance(a, (ast.For, ast.While))]
        line = getattr(near, "lineno", 0)
        if here is not scope or not line:
            return found
        kept = [b for b in found if b[0] is None or b[0].lineno <= line or any(a in loops for a in self.source.ancestors(b[0]))]
        return kept or found

    def _bound(self, name: str, scope: ast.AST) -> Iterator[Binding]:
        """Where the name gets a value, or what it holds is changed: the statement, the value, and which element of it."""
        for node in _own(scope):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id == name:
                        yield node, node.value, ()
                    elif (where := _position(target, name)) is not None:
                        yield node, node.value, where
            elif isinstance(node, (ast.AnnAssign, ast.AugAssign)) and _root(node.target) == name:
                yield node, node.value, ()
            elif isinstance(node, ast.For) and (where := _position(node.target, name)) is not None:
                yield node, node.iter, where
            elif isinstance(node, ast.comprehension) and (where := _position(node.target, name)) is not None:
                yield None, node.iter, where
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                # np.random.shuffle(y), y.sort(), names.append(...)
                call = node.value
                if _root(call.args[0] if call.args else None) == name or _root(receiver(call)) == name:
                    yield node, call.args[0] if call.args and _root(receiver(call)) == name else None, ()

    def _given(self, function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> Iterator[tuple[ast.expr, Path]]:
        """What calls of a function give to one of its parameters, and which element of it."""
        owner = self.source.parents.get(function)
        parameters = _parameters(function)
        method = isinstance(owner, ast.ClassDef)
        wanted = owner.name if isinstance(owner, ast.ClassDef) and function.name == "__init__" else function.name
        at = parameters.index(name) - (1 if method and parameters[:1] == ["self"] else 0)
        for call in self.source.calls(wanted):
            spread = next((i for i, a in enumerate(call.args[: at + 1]) if isinstance(a, ast.Starred)), None)
            if (keyword := next((k for k in call.keywords if k.arg == name), None)) is not None:
                yield keyword.value, ()
            elif spread is not None:
                yield call.args[spread].value, (at - spread,)  # type: ignore[attr-defined]
            elif 0 <= at < len(call.args):
                yield call.args[at], ()

    def _attribute(self, node: ast.Attribute, path: Path, depth: int) -> Iterator[ast.stmt]:
        """`self.labels`: where the class sets it; `data.labels`: where any class of the file does."""
        found = False
        for kind in self.classes.values():
            for statement in ast.walk(kind):
                if isinstance(statement, (ast.Assign, ast.AnnAssign)):
                    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                    for target in targets:
                        if (where := _position(target, node.attr, attribute=True)) is not None:
                            found = True
                            yield statement
                            yield from self._value(statement.value, (*where, *path), depth)
        if found:
            yield from self._made(node.value)
        else:
            yield from self._value(node.value, path, depth)

    def _made(self, instance: ast.AST | None, depth: int = 0) -> Iterator[ast.stmt]:
        """`data = Split(x, y)`: where the object was made whose attribute or method it is; followed through parameters."""
        if not isinstance(instance, ast.Name) or depth > DEEPEST:
            return
        for scope in (a for a in self.source.ancestors(instance) if isinstance(a, Function | ast.Module)):
            for statement, value, where in self._bound(instance.id, scope):
                made = _element(value, where)
                if statement is not None and isinstance(made, ast.Call) and called(made) in self.classes:
                    yield statement
            if isinstance(scope, Function) and instance.id in _parameters(scope):
                for argument, _ in self._given(scope, instance.id):
                    yield from self._made(argument, depth + 1)
                return


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function or module without those of functions and classes inside it, in the order of the text."""
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, Function | ast.ClassDef):
            yield child
            yield from _own(child)


def _position(target: ast.expr, name: str, attribute: bool = False) -> Path | None:
    """Where a name stands among the targets of an assignment."""
    if isinstance(target, ast.Starred):
        target = target.value
    if isinstance(target, (ast.Tuple, ast.List)):
        for i, element in enumerate(target.elts):
            if (inside := _position(element, name, attribute)) is not None:
                return (i, *inside)
        return None
    if attribute:
        return () if isinstance(target, ast.Attribute) and target.attr == name else None
    return () if isinstance(target, ast.Name) and target.id == name else None


def _element(value: ast.expr | None, path: Path) -> ast.expr | None:
    """The part of `A(1), B(2)` that a path leads to."""
    for at in path:
        if not isinstance(value, (ast.Tuple, ast.List)) or at >= len(value.elts):
            return None
        value = value.elts[at]
    return value


def _root(node: ast.expr | None) -> str:
    """The name at the bottom of `y[mask]` or `y.values`."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _parameters(function: ast.AST) -> list[str]:
    arguments = getattr(function, "args", None)
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)] if isinstance(arguments, ast.arguments) else []
