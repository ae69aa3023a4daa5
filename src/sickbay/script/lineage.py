"""Where a value in the user's script comes from: the statements it went through, followed back through assignments, loops, loaders, data sets and functions.

This reads the text only, so it is a guess about what runs: causes use it to point at a likelier line, never to decide whether something is wrong.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from sickbay.script.bindings import (
    Binding,
    Comprehension,
    Path,
    argument,
    bound,
    comprehended,
    element,
    number,
    parameters,
    position,
    root,
    under_key,
    within_loop,
)
from sickbay.script.fixing import Function, Source, called, receiver
from sickbay.script.statement_kinds import alters

DEEPEST = 40
MOST = 3_000
"""Parts of a script that are visited for one value: it may call its own functions in ever new ways."""
FEW_CALLS = 5
"""Functions that an object is handed on through."""
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
        defined = source.defined.items()
        self.functions = {name: made for name, all_made in defined if (made := [m for m in all_made if isinstance(m, Function)])}
        self.classes = {name: m for name, all_made in defined for m in all_made if isinstance(m, ast.ClassDef)}
        imports = (n for n in ast.walk(source.tree) if isinstance(n, (ast.Import, ast.ImportFrom)))
        self.imported = {(a.asname or a.name).partition(".")[0] for n in imports for a in n.names}
        self.calls: dict[str, list[ast.Call]] = {}
        for call in source.calls():
            self.calls.setdefault(called(call), []).append(call)
        self._chosen: dict[ast.expr | None, int] = {}
        """Of lists that comprehensions go through: the element that is followed at the moment."""
        self._known_bound: dict[tuple[str, ast.AST], list[Binding]] = {}
        self._known_set: dict[tuple[str, ast.AST], list[Binding]] = {}

    def of(self, value: ast.expr, through: ast.Call | None = None) -> list[ast.stmt]:
        """The statements that a value went through, the nearest first; `through` is the call that led into the function around it."""
        self._met: set[tuple[int, Path, tuple[int, ...]]] = set()
        self._calls: dict[ast.AST, ast.Call] = {self.source.function(value): through} if through is not None else {}
        return list(dict.fromkeys(self._value(value, (), 0)))

    @contextmanager
    def _through(self, function: ast.AST, call: ast.Call) -> Iterator[None]:
        """While a function is looked into for one call of it, its parameters are what this call gives."""
        before = self._calls
        self._calls = {**before, function: call}
        try:
            yield
        finally:
            self._calls = before

    def _as_built(self, made: list[ast.Call]) -> AbstractContextManager[None]:
        """The same for the constructor of an object, if there is one call that can have made it."""
        body = self.classes[called(made[0])].body if len(made) == 1 else []
        constructor = next((f for f in body if isinstance(f, Function) and f.name == "__init__"), None)
        return self._through(constructor, made[0]) if constructor is not None else nullcontext()

    # -- values -------------------------------------------------------------------------------------------------

    def _value(self, node: ast.AST | None, path: Path, depth: int) -> Iterator[ast.stmt]:
        met = (id(node), path, (*map(id, self._calls.values()), *self._chosen.values()))
        if node is None or depth > DEEPEST or met in self._met or len(self._met) > MOST:
            return
        self._met.add(met)
        depth += 1
        if isinstance(node, ast.Name):
            if node.id not in self.imported:
                yield from self._name(node.id, node, path, depth)
        elif isinstance(node, ast.Attribute):
            yield from self._attribute(node, path, depth)
        elif isinstance(node, ast.Call):
            yield from self._call(node, path, depth)
        elif isinstance(node, ast.Subscript):
            at = node.slice.value if isinstance(node.slice, ast.Constant) else None
            yield from self._value(node.value, (at, *path) if isinstance(at, str) or (isinstance(at, int) and at >= 0) else path, depth)
            if isinstance(node.slice, (ast.Name, ast.Subscript, ast.Attribute, ast.Call)):
                yield from self._value(node.slice, (), depth)
        elif isinstance(node, (ast.Tuple, ast.List)):
            at = number(path)
            chosen = node.elts[at : at + 1] if at is not None and at < len(node.elts) else node.elts
            for element in chosen:
                yield from self._value(element, path[1:] if at is not None else path, depth)
        elif isinstance(node, ast.Dict):
            named = [v for k, v in zip(node.keys, node.values, strict=True) if path and isinstance(k, ast.Constant) and k.value == path[0]]
            for value in named or node.values:
                yield from self._value(value, path[1:] if named else path, depth)
        elif isinstance(node, ast.ListComp | ast.GeneratorExp) and (one := self._one_of(node, path)) is not None:
            with one:
                yield from self._value(node.elt, path[1:], depth)
        elif isinstance(node, Comprehension):
            given = node.value if isinstance(node, ast.DictComp) else node.elt
            yield from self._value(given, path, depth)
            used = {n.id for n in ast.walk(given) if isinstance(n, ast.Name)}
            for generator in node.generators:
                if not used & {n.id for n in ast.walk(generator.target) if isinstance(n, ast.Name)}:  # else the name leads there
                    yield from self._value(generator.iter, (), depth)
        elif isinstance(node, ast.expr):
            for child in ast.iter_child_nodes(node):
                yield from self._value(child, path, depth)

    def _one_of(self, node: ast.ListComp | ast.GeneratorExp, path: Path) -> AbstractContextManager[None] | None:
        """`a, b = (f(v) for v in (x, y))`: while the first of them is looked for, v is x."""
        at, (over, *others) = number(path), [g.iter for g in node.generators]
        if at is None or not isinstance(over, (ast.Tuple, ast.List)) or others or node.generators[0].ifs:
            return None
        return self._choosing(over, at) if over not in self._chosen and at < len(over.elts) else None

    @contextmanager
    def _choosing(self, over: ast.expr, at: int) -> Iterator[None]:
        self._chosen[over] = at
        try:
            yield
        finally:
            del self._chosen[over]

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
        elif name in ("items", "values") and owner is not None:
            yield from self._value(owner, path[1:] if name == "items" and path[:1] == (1,) else path, depth)
        elif name == "dict" and path and (named := [k.value for k in call.keywords if k.arg == path[0]]):
            yield from self._value(named[0], path[1:], depth)
        elif name in SIDE_BY_SIDE and (at := number(path)) is not None and at < len(call.args):
            yield from self._value(call.args[at], path[1:], depth)
        elif name in PAIRS and (at := number(path)) is not None and at // 2 < len(call.args):
            yield from self._value(call.args[at // 2], path[1:], depth)
        elif name in self.classes and not isinstance(owner, ast.Call):
            yield from self._instance(call, self.classes[name], path, depth)
        elif name in self.functions:
            constructed = [made for _, made in self._constructed(owner)]
            with self._as_built(constructed):
                for function in self.functions[name]:
                    with self._through(function, call):
                        yield from self._returned(function, path, depth)
            yield from self._made(owner)
        else:
            for short in self._lambdas(call):
                yield from self._value(short.body, path, depth)
            # A method gives back what it is called on, changed; a library's function what it is given.
            for given in (*([owner] if owner is not None else []), *call.args):
                yield from self._value(given, path if given is owner else (), depth)

    def _lambdas(self, call: ast.Call) -> Iterator[ast.Lambda]:
        """`pack = lambda rows: TensorDataset(x[rows], y[rows])`: what the name of the call stands for, which may give more than it is given."""
        if isinstance(call.func, ast.Name):
            values = (value for scope in self._scopes(call) for _, value, where in self._bound(call.func.id, scope) if not where)
            yield from (v for v in values if isinstance(v, ast.Lambda))

    def _instance(self, call: ast.Call, kind: ast.ClassDef, path: Path, depth: int) -> Iterator[ast.stmt]:
        """An element of a data set of the user's own: what `__getitem__` or `__iter__` gives."""
        gives = [f for f in kind.body if isinstance(f, Function) and f.name in ("__getitem__", "__iter__")]
        with self._as_built([call]):
            for function in gives:
                yield from self._returned(function, path, depth)
        for given in (*call.args, *(k.value for k in call.keywords)) if not gives else ():
            yield from self._value(given, (), depth)

    def _returned(self, function: ast.AST, path: Path, depth: int) -> Iterator[ast.stmt]:
        for node in ast.walk(function):
            if isinstance(node, (ast.Return, ast.Yield)) and node.value is not None and self.source.function(node) is function:
                if isinstance(node, ast.Return):
                    yield node
                yield from self._value(node.value, path, depth)

    # -- names --------------------------------------------------------------------------------------------------

    def _name(self, name: str, near: ast.AST, path: Path, depth: int) -> Iterator[ast.stmt]:
        if any(isinstance(a, ast.Lambda) and name in parameters(a) for a in self.source.ancestors(near)):
            return  # what the call gives it is followed there
        if (inner := comprehended(self.source, name, near)) is not None:
            chosen = (self._chosen[inner[1]],) if inner[1] in self._chosen else ()
            yield from self._value(inner[1], (*chosen, *inner[2], *path), depth)
            return
        for scope in self._scopes(near):
            found = within_loop(self.source, near, self._before(near, scope, self._bound(name, scope)))
            for statement, value, where in found:
                left = under_key(statement, path)
                if left is None:
                    continue
                if statement is not None:
                    yield statement
                yield from self._value(value, (*where, *left), depth)
            if isinstance(scope, Function) and name in parameters(scope):
                for given, where in self._given(scope, name):
                    yield from self._value(given, (*where, *path), depth)
                return
            if found:
                return

    def _scopes(self, near: ast.AST) -> Iterator[ast.AST]:
        """The functions around a node, innermost first, and the module."""
        return (a for a in self.source.ancestors(near) if isinstance(a, Function | ast.Module))

    def _before(self, near: ast.AST, scope: ast.AST, found: list[Binding]) -> list[Binding]:
        """Without what happens only later: below the line that uses the name, in the same function, and in no loop around both."""
        here = next(self._scopes(near), None)
        loops = [a for a in self.source.ancestors(near) if isinstance(a, (ast.For, ast.While))]
        line = getattr(near, "lineno", 0)
        if here is not scope or not line:
            return found
        kept = [b for b in found if b[0] is None or b[0].lineno <= line or any(a in loops for a in self.source.ancestors(b[0]))]
        return kept or found

    def _given(self, function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> Iterator[tuple[ast.expr, Path]]:
        """What calls of a function give to one of its parameters: the call that led into it, else any."""
        owner = self.source.parents.get(function)
        wanted = owner.name if isinstance(owner, ast.ClassDef) and function.name == "__init__" else function.name
        calls = [self._calls[function]] if function in self._calls else self.calls.get(wanted, [])
        for call in calls:
            if (given := argument(call, function, name, isinstance(owner, ast.ClassDef))) is not None:
                yield given

    def _attribute(self, node: ast.Attribute, path: Path, depth: int) -> Iterator[ast.stmt]:
        """`self.labels`: where the class sets it; `data.labels`: where the class of `data` does, else where any class of the file does."""
        constructed = [made for _, made in self._constructed(node.value)]
        around = [a for a in self.source.ancestors(node) if isinstance(a, ast.ClassDef)][:1] if root(node.value) == "self" else []
        kinds = around or [self.classes[called(made)] for made in constructed]
        found = [b for kind in kinds for b in self._set(node.attr, kind)] or [b for kind in self.classes.values() for b in self._set(node.attr, kind)]
        with self._as_built(constructed):
            for statement, value, where in found:
                if statement is not None:
                    yield statement
                yield from self._value(value, (*where, *path), depth)
        if found:
            yield from self._made(node.value)
        else:
            yield from self._value(node.value, path, depth)

    # -- objects ------------------------------------------------------------------------------------------------

    def _constructed(self, instance: ast.AST | None) -> Iterator[tuple[ast.stmt, ast.Call]]:
        """`data = Split(x, y)`: where an object of a class of the script's own is made, and the call."""
        for statement, value, where in self._origins(instance):
            made = element(value, where)
            if statement is not None and isinstance(made, ast.Call) and called(made) in self.classes:
                yield statement, made

    def _made(self, instance: ast.AST | None) -> Iterator[ast.stmt]:
        """...or by one of its functions, and where a function changes it."""
        for statement, value, where in self._origins(instance):
            made = element(value, where)
            ours = isinstance(made, ast.Call) and (called(made) in self.classes or called(made) in self.functions)
            if statement is not None and (alters(self.source, statement) if isinstance(statement, ast.Expr) else ours):
                yield statement

    def _origins(self, instance: ast.AST | None, handed: int = 0) -> Iterator[Binding]:
        """What is done to an object by its name, the newest first; followed through parameters."""
        if not isinstance(instance, ast.Name) or handed > FEW_CALLS:
            return
        for scope in self._scopes(instance):
            yield from self._bound(instance.id, scope)
            if isinstance(scope, Function) and instance.id in parameters(scope):
                given = [g for g, _ in self._given(scope, instance.id)]
                for value in given if len(given) <= FEW_CALLS else ():
                    yield from self._origins(value, handed + 1)
                return

    # -- what is asked again and again ------------------------------------------------------------------------------

    def _bound(self, name: str, scope: ast.AST) -> list[Binding]:
        """Where a name gets its values in a scope, the newest first."""
        if (name, scope) not in self._known_bound:
            self._known_bound[name, scope] = list(bound(name, scope))[::-1]
        return self._known_bound[name, scope]

    def _set(self, attribute: str, kind: ast.ClassDef) -> list[Binding]:
        if (attribute, kind) not in self._known_set:
            self._known_set[attribute, kind] = list(_setting(kind, attribute))
        return self._known_set[attribute, kind]


def _setting(kind: ast.ClassDef, attribute: str) -> Iterator[Binding]:
    """Where a class sets an attribute, or a part of it."""
    for statement in ast.walk(kind):
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
                if (where := position(target, attribute, attribute=True)) is not None:
                    yield statement, statement.value, where
