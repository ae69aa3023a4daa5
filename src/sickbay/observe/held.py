"""How much memory the entries of a container hold: tensors, arrays and numbers, also inside of tuples, objects and closures.

Only a few entries are looked at. What two of them share (a data set that each refers to, one storage of which they are parts) counts for the first only, and the
middle of their sizes is taken: what is shared does not grow with the container. Nothing of the script's runs while this looks: types are asked, not objects.
"""

from __future__ import annotations

import gc
import sys
from collections import deque
from itertools import islice
from types import BuiltinFunctionType, CellType, CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch

PICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Which entries are looked at."""
DEEPEST, MOST_PARTS, MOST_VISITED = 4, 32, 256
"""How far into an entry, how many parts of each, and how many in all."""
PLAIN = (float, int, complex, str, bytes, bytearray)
OUTSIDE = (ModuleType, type, FrameType, CodeType, BuiltinFunctionType)
"""What everything refers to and nothing holds for itself."""


def bytes_each(container: Any, seen: set[int] | None = None) -> float:
    """What one entry of a list, dict, deque or set holds, about; without what was `seen` in another one."""
    entries = _entries(container)
    if not entries:
        return 0.0
    seen = set() if seen is None else seen
    sizes = sorted(_Visit(seen).size(entry) for entry in entries)
    return sizes[len(sizes) // 2]


def _entries(container: Any) -> list[Any]:
    items = _all(container, type(container))
    return [items[n] for n in sorted({int(share * (len(items) - 1)) for share in PICKS})] if items else []


def _all(container: Any, kind: type) -> list[Any]:
    """By the methods of the base class: a class of the script's might do something else."""
    if issubclass(kind, dict):
        return list(dict.items(container))
    return list(list.__iter__(container)) if issubclass(kind, list) else list(deque.__iter__(container))


class _Visit:
    """One entry; `seen` goes from entry to entry."""

    def __init__(self, seen: set[int]) -> None:
        self.seen = seen
        self.visited = 0

    def size(self, value: Any, depth: int = 0) -> float:
        kind = type(value)
        self.visited += 1
        if self.visited > MOST_VISITED or value is None or issubclass(kind, OUTSIDE):
            return 0.0
        if kind in (torch.Tensor, torch.nn.Parameter):
            return self._once(*_storage(value))
        if kind is np.ndarray:
            return self._once(value.__array_interface__["data"][0], value.nbytes)
        if kind in PLAIN:
            return self._once(id(value), sys.getsizeof(value))
        return self._parts(value, kind, depth) if depth < DEEPEST and id(value) not in self.seen else 0.0

    def _once(self, key: int, size: int) -> float:
        if key in self.seen:
            return 0.0
        self.seen.add(key)
        return float(size)

    def _parts(self, value: Any, kind: type, depth: int) -> float:
        self.seen.add(id(value))
        parts, count = _inside(value, kind)
        size = sum(self.size(p, depth + 1) for p in parts)
        return size * count / len(parts) if len(parts) else 0.0


def _inside(value: Any, kind: type) -> tuple[list[Any], int]:
    """What is in it, or some of that; and how much there is in all."""
    if issubclass(kind, dict):
        return list(islice(dict.values(value), MOST_PARTS)), dict.__len__(value)
    if kind in (list, tuple, deque, set) or issubclass(kind, tuple):
        return list(islice(tuple.__iter__(value) if issubclass(kind, tuple) else value, MOST_PARTS)), len(value)
    if kind is FunctionType:
        parts = [c.cell_contents for c in value.__closure__ or () if _filled(c)]
        return parts, len(parts)
    if kind is MethodType:
        return [value.__self__], 1
    parts = gc.get_referents(value)[:MOST_PARTS]
    return parts, len(parts)


def _filled(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - an empty one says so
    except ValueError:
        return False
    return True


def _storage(tensor: torch.Tensor) -> tuple[int, int]:
    """Its memory, by address: a part of a tensor keeps the whole."""
    if tensor.layout != torch.strided or tensor.device.type == "meta":
        return id(tensor), 0
    try:
        storage = tensor.untyped_storage()
        return storage.data_ptr() or id(tensor), storage.nbytes()
    except (RuntimeError, NotImplementedError):  # a wrapper of torch.func has none
        return id(tensor), 0
