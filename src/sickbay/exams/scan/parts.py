"""The parts of a batch by name: tensors in tuples, dicts and dataclasses, nested as they come; and which of them is the target."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import torch

DEEPEST, MOST_PARTS = 4, 32
RAGGED = 4
"""A list of more tensors than this is one per sample (as detection models take them), not one per role."""
TARGET = re.compile(r"(?:^|[._])(?:y|labels?|targets?|class(?:es)?|class_?ids?|ground_?truth|gt|answers?)$", re.IGNORECASE)

Parts = list[tuple[str, Any]]


def parts_of(batch: Any) -> Parts:
    """(name, tensor) for all that can be counted; (name, the thing itself) for the rest."""
    if type(batch) in (tuple, list) and len(batch) == 2 and type(batch[0]) is type(batch[1]) is torch.Tensor:  # what most loaders give
        return [("0", batch[0]), ("1", batch[1])]
    found = list(_walk(batch, "", 0))[:MOST_PARTS]
    return [(name or "batch", value) for name, value in found]


def _walk(value: Any, name: str, depth: int) -> Iterator[tuple[str, Any]]:
    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, np.ndarray):
        yield name, torch.as_tensor(value) if value.dtype.kind in "biuf" and value.dtype.isnative else value
    elif depth < DEEPEST and (inside := _inside(value)) is not None:
        for key, held in inside:
            yield from _walk(held, f"{name}.{key}" if name else str(key), depth + 1)
    elif isinstance(value, (list, tuple)) and value and all(type(v) in (int, float, bool) for v in value):
        yield name, torch.tensor(value)
    elif value is not None:
        yield name, value


def _inside(value: Any) -> list[tuple[Any, Any]] | None:
    if isinstance(value, Mapping):
        return list(value.items())
    if is_dataclass(value) and not isinstance(value, type):
        return [(f.name, getattr(value, f.name)) for f in fields(value)]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return list(zip(value._fields, value, strict=False))
    if not isinstance(value, (list, tuple)) or not value or isinstance(value[0], (str, bytes, int, float, bool)) or _ragged(value):
        return None
    return list(enumerate(value))


def _ragged(value: Any) -> bool:
    return isinstance(value, list) and len(value) > RAGGED and all(isinstance(v, torch.Tensor) for v in value)


def size_of(parts: Parts) -> int:
    """Samples in the batch."""
    for _, value in parts:
        if isinstance(value, torch.Tensor):
            if value.dim():
                return len(value)
        elif isinstance(value, (list, tuple)):
            return len(value)
    return 0


def target_of(parts: Parts, size: int) -> str:
    """The name of the part that holds the targets: by its name, else the last of several; "" where there is none."""
    tensors = [(name, x) for name, x in parts if isinstance(x, torch.Tensor) and x.dim() and len(x) == size]
    if len(tensors) < 2:
        return ""
    named = [name for name, _ in tensors if TARGET.search(name)]
    if named:
        return named[0]
    top = [name for name, _ in parts]
    return tensors[-1][0] if all(part.split(".")[0].isdecimal() for part in top) else ""


def one_each(x: torch.Tensor) -> bool:
    """One number per sample."""
    return x.dim() >= 1 and x.numel() == len(x) and not x.is_complex()
