"""Weights that a double shares with the user's model, instead of copies: whatever would write to them is refused before it does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

LARGE = 2**20
"""Bytes of a tensor that is lent and not copied: copies of all weights would make a process larger by as much, at one stroke."""
EXITS = frozenset({"numpy", "array", "dlpack", "data_ptr", "storage", "untyped_storage", "data_ptr_const"})
"""What gives a tensor's memory to others, who may write to it unseen."""


class Written(Exception):
    """The forward pass writes to its own weights (a norm constraint, say), or gives their memory away: it needs copies of them."""


class Lent:
    """The memory of what was lent to one double."""

    def __init__(self) -> None:
        self._memory: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._memory)

    def lend(self, tensor: torch.Tensor) -> torch.Tensor:
        """Another tensor with the same numbers."""
        self._memory.add(tensor.untyped_storage().data_ptr())
        return tensor.detach()

    def refuse(self, tensors: Iterator[Any]) -> None:
        if any(isinstance(t, torch.Tensor) and t.layout == torch.strided and t.untyped_storage().data_ptr() in self._memory for t in tensors):
            raise Written


class Guard(TorchDispatchMode):
    """Looks at every operation beneath autograd before it runs: what writes to lent memory does not."""

    def __init__(self, lent: Lent) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._lent = lent

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        schema = func._schema
        if schema.is_mutable:
            given = {**dict(zip((a.name for a in schema.arguments), args, strict=False)), **(kwargs or {})}
            written = [given.get(a.name) for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
            self._lent.refuse(t for value in written for t in (value if isinstance(value, (list, tuple)) else (value,)))
        return func(*args, **(kwargs or {}))
