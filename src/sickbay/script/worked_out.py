"""The operations that a value of the user's script was worked out by, nearest first: the trail behind a NaN (see lineage.py).

Other than the statements of a lineage these are single nodes, without what no NaN comes through: indices, comparisons, random draws, counts.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from sickbay.script.bindings import Path, argument
from sickbay.script.fixing import Function, Source, called, keyword
from sickbay.script.lineage import Lineage

DRAWS = frozenset(
    "normal uniform rand randn random standard_normal poisson randint integers choice permutation randperm binomial gamma beta exponential lognormal "
    "bernoulli multinomial dirichlet randn_like rand_like gauss".split()
)
STOPS = DRAWS | frozenset(
    "nan_to_num fillna interpolate isnan isfinite isna notna isinf nanmean nanmedian nanstd nanpercentile argmax argmin argsort long int bool "
    "shape arange linspace zeros ones empty zeros_like ones_like empty_like index bincount unique SimpleImputer dropna seed manual_seed default_rng Generator".split()
)
"""Calls whose result holds no NaN because of what they are given."""


def fades(call: ast.Call) -> bool:
    """`exp(-(x / width) ** 2)`: at most 1, and 0 for what is infinite."""
    given = call.args[0] if called(call) == "exp" and call.args else None
    while isinstance(given, ast.BinOp):
        given = given.left
    return isinstance(given, ast.UnaryOp) and isinstance(given.op, ast.USub)


def _default(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> list[tuple[ast.expr, Path]]:
    """What a parameter is if no call gives it."""
    given = function.args
    named = [a.arg for a in (*given.posonlyargs, *given.args)]
    last = zip(reversed(named), reversed(given.defaults), strict=False)
    by_name = zip((a.arg for a in given.kwonlyargs), given.kw_defaults, strict=True)
    return [(value, ()) for key, value in (*last, *by_name) if key == name and value is not None]


class Trail(Lineage):
    """Of one value; `model` is the call of the model in the training loop, which leads into its `forward`."""

    def __init__(self, source: Source, model: ast.Call | None) -> None:
        super().__init__(source)
        self.model = model
        self.nodes: list[ast.AST] = []

    @cached_property
    def other(self) -> Trail:
        """A second one of the same script, for values that are met on this one."""
        return Trail(self.source, self.model)

    def behind(self, value: ast.expr, path: Path = ()) -> list[ast.AST]:
        """The nodes and statements it went through, each once."""
        self.nodes, self._met, self._calls = [], set(), {}
        for statement in self._value(value, path, 0):
            self.nodes.append(statement)
        return list(dict.fromkeys(self.nodes))

    def _value(self, node: ast.AST | None, path: Path, depth: int) -> Iterator[ast.stmt]:
        if isinstance(node, ast.Compare) or (isinstance(node, ast.Call) and (called(node) in STOPS or fades(node))):
            self.nodes.append(node)
            return
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
            self.nodes.append(node)
            yield from super()._value(node.value, path, depth + 1)  # what an index is worked out by does not come through it
            return
        if node is not None:
            self.nodes.append(node)
        yield from super()._value(node, path, depth)

    def _call(self, call: ast.Call, path: Path, depth: int) -> Iterator[ast.stmt]:
        collate = keyword(call, "collate_fn") if called(call) == "DataLoader" else None
        if collate is not None and isinstance(collate.value, ast.Name):
            for function in self.functions.get(collate.value.id, ()):
                yield from self._returned(function, path, depth)
        for function in self._called_object(call):
            with self._through(function, call):
                yield from self._returned(function, path, depth)
        yield from super()._call(call, path, depth)

    def _called_object(self, call: ast.Call) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        """`scale(x)` of `scale = Standardizer().fit(x)`: its `__call__`."""
        if not isinstance(call.func, ast.Name) or call.func.id in self.functions or call.func.id in self.classes:
            return
        for _, value, _ in self._origins(call.func):
            made = [n for n in ast.walk(value) if isinstance(n, ast.Call) and called(n) in self.classes] if value is not None else []
            for kind in (self.classes[called(n)] for n in made):
                yield from (f for f in kind.body if isinstance(f, Function) and f.name == "__call__")

    def _given(self, function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> Iterator[tuple[ast.expr, Path]]:
        found = list(super()._given(function, name))
        if not found and function.name == "forward" and self.model is not None:
            found = [given] if (given := argument(self.model, function, name, True)) is not None else []
        elif not found and function.name == "__call__":
            found = [given for c in self._calls_of_objects() if (given := argument(c, function, name, True)) is not None]
        yield from found or _default(function, name)

    def _calls_of_objects(self) -> list[ast.Call]:
        return [c for calls in self.calls.values() for c in calls if any(True for _ in self._called_object(c))]
