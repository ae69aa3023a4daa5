"""Autograd's own graph of a loss, asked after values at which an operation or its slope is infinite.

The graph is there on every step, traced or not, and remembers what went into logarithms, roots and divisions. Only values
that are kept as they are get looked at: where the script (or checkpointing) put hooks on saved tensors, looking would run them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch

MOST_NODES = 20_000
_SAVED = {
    "LogBackward0": ("log", "self"),
    "Log2Backward0": ("log2", "self"),
    "Log10Backward0": ("log10", "self"),
    "SqrtBackward0": ("sqrt", "result"),
    "RsqrtBackward0": ("rsqrt", "result"),
    "DivBackward0": ("div", "other"),
    "ReciprocalBackward0": ("reciprocal", "result"),
    "ExpBackward0": ("exp", "result"),
    "PowBackward0": ("pow", "self"),
    "AcosBackward0": ("acos", "self"),
    "AsinBackward0": ("asin", "self"),
}


@dataclass(frozen=True)
class Edge:
    """One operation that was given such a value."""

    op: str
    lowest: float
    highest: float
    """Of its argument (for `exp`, of its result)."""


def edges(loss: torch.Tensor) -> Iterator[Edge]:
    """Operations behind a loss that were given a value at which they or their slope are infinite; the last is the farthest."""
    for node in _nodes(loss):
        op, what = _SAVED.get(node.name(), ("", ""))
        value = _saved(node, what) if op else None
        if value is None or not value.is_floating_point() or not value.numel():
            continue
        low, high = (v.item() for v in value.detach().aminmax())
        if _at_the_edge(op, low, high, getattr(node, "_saved_exponent", None)):
            yield Edge(op, low, high)


def _nodes(loss: torch.Tensor) -> Iterator[Any]:
    seen = {loss.grad_fn}
    todo = [loss.grad_fn]
    for node in todo:
        if node is None or len(seen) > MOST_NODES:
            return
        yield node
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                todo.append(following)


def _saved(node: Any, name: str) -> torch.Tensor | None:
    raw = getattr(node, f"_raw_saved_{name}", None)
    if raw is None or getattr(raw, "unpack_hook", raw) is not None:
        return None
    value = None
    with suppress(RuntimeError):  # freed, or changed in place since
        value = getattr(node, f"_saved_{name}")
    return value if isinstance(value, torch.Tensor) else None


def _at_the_edge(op: str, low: float, high: float, exponent: Any) -> bool:
    if low != low:  # NaN came in already
        return False
    if op in ("log", "log2", "log10"):
        return low <= 0
    if op == "sqrt":
        return low == 0
    if op == "div":
        return low == 0 or high == 0
    if op in ("exp", "reciprocal", "rsqrt"):
        return high == float("inf")
    if op == "pow":
        return isinstance(exponent, (int, float)) and exponent < 1 and low <= 0
    return low <= -1 or high >= 1
