"""What a forward pass may change outside its model: global names, class attributes, lists and objects that they hold.

A double shares these with the model. They are noted before a pass and put back after it.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

import torch

DEEP = 3
"""Functions that call functions: followed this far."""
MOST_ITEMS = 100_000
_CONTAINERS = (list, dict, set, deque)


class Outside:
    """Notes on everything that the code of a model names and could change."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._names: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._classes: list[tuple[type, dict[str, Any]]] = []
        self._held: list[tuple[Any, Any]] = []
        self._noted: set[int] = set()
        for kind in {base for m in model.modules() for base in type(m).__mro__ if _is_users(base)}:
            self._note_class(kind)

    def note(self, value: Any) -> None:
        """Note the content of a container, or the attributes of an object of the user's own classes."""
        if id(value) in self._noted:
            return
        self._noted.add(id(value))
        if type(value) in _CONTAINERS:
            if len(value) <= MOST_ITEMS:
                self._held.append((value, value.copy()))
            return
        if isinstance(value, (torch.nn.Module, torch.Tensor, type, FunctionType)) or not _is_users(type(value)):
            return
        attributes = getattr(value, "__dict__", None)
        if type(attributes) is dict:
            self._held.append((attributes, dict(attributes)))
            for inner in attributes.values():
                if type(inner) in _CONTAINERS:
                    self.note(inner)

    def put_back(self) -> bool:
        """Undo all changes; whether there were any."""
        changed = False
        for names, before in self._names:
            for name, value in before.items():
                if names.get(name) is not value:
                    names[name] = value
                    changed = True
        for kind, before in self._classes:
            for name, value in before.items():
                if vars(kind).get(name) is not value:
                    setattr(kind, name, value)
                    changed = True
        for now, before in self._held:
            if not _same(now, before):
                now.clear()
                (now.extend if isinstance(now, (list, deque)) else now.update)(before)
                changed = True
        return changed

    def _note_class(self, kind: type) -> None:
        plain = {k: v for k, v in vars(kind).items() if not k.startswith("__") and not callable(v) and not hasattr(v, "__get__")}
        self._classes.append((kind, plain))
        for value in plain.values():
            self.note(value)
        for member in vars(kind).values():
            function = getattr(member, "__func__", member)
            if isinstance(function, FunctionType):
                self._note_function(function, 0)

    def _note_function(self, function: FunctionType, depth: int) -> None:
        if id(function) in self._noted or depth > DEEP:
            return
        self._noted.add(id(function))
        names = {n for n in _names(function.__code__) if n in function.__globals__}
        self._names.append((function.__globals__, {n: function.__globals__[n] for n in names}))
        cells = [c.cell_contents for c in function.__closure__ or () if _filled(c)]
        for value in (*(function.__globals__[n] for n in names), *cells):
            if isinstance(value, FunctionType) and _is_users(value):
                self._note_function(value, depth + 1)
            else:
                self.note(value)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _is_users(thing: Any) -> bool:
    top = str(getattr(thing, "__module__", "")).partition(".")[0]
    return top not in sys.stdlib_module_names - {"__main__"} and top not in ("torch", "numpy", "builtins")


def _same(now: Any, before: Any) -> bool:
    if len(now) != len(before):
        return False
    if isinstance(now, dict):
        return all(k in now and now[k] is v for k, v in before.items())
    if isinstance(now, set):
        return bool(now == before)
    return all(a is b for a, b in zip(now, before, strict=True))
