"""By what factor a loss is scaled, read from autograd's own graph: 1 for a mean over the batch, 0.25 for that mean divided by four."""

from __future__ import annotations

import math
from typing import Any

import torch

_DEPTH = 24
_PASS = ("View", "Reshape", "Squeeze", "Unsqueeze", "ToCopy", "Clone", "Neg", "Alias", "Expand", "Select")
ROUNDING = 1.01
"""A mean by hand has a factor of at most 1."""
MEAN, SUM = 1, 2
"""How autograd numbers reductions (none is 0)."""


def mean_scale(loss: torch.Tensor) -> float | None:
    """The factor on the mean that a loss is made of; the largest of several terms. None for a sum, or where the graph does not tell.

    Terms may have weights of their own (temperature squared in distillation), so what the whole loss is divided by counts by itself.
    """
    if loss.numel() != 1 or loss.grad_fn is None:
        return None
    total = _walk(loss.grad_fn, 1.0, 0)
    return min(total, _on_the_whole(loss.grad_fn)) if total is not None else None


def _on_the_whole(node: Any) -> float:
    """The factor on a loss as a whole, before it falls into terms; infinite if it has but one."""
    factor = 1.0
    for _ in range(_DEPTH):
        name = node.name() if node is not None else ""
        if name.startswith(("AddBackward", "SubBackward")):
            return factor
        if not name.startswith(("MulBackward", "DivBackward", *_PASS)):
            break
        following = [f for f, _ in node.next_functions]
        constant = 1.0 if name.startswith(_PASS) else _constant(node, following)
        if not constant:
            break
        factor = factor / constant if name.startswith("Div") else factor * constant
        node = next((f for f in following if f is not None), None)
    return math.inf


def _walk(node: Any, factor: float, depth: int, divisor: float = 0.0) -> float | None:
    """`divisor`: what the value at this node was divided by right after it was made."""
    if node is None or depth > _DEPTH:
        return None
    name = node.name()
    following = [f for f, _ in node.next_functions]
    if name.startswith(("MulBackward", "DivBackward")):
        constant = _constant(node, following)
        if constant is None:
            return None
        rest = next((f for f in following if f is not None), None)
        divided = name.startswith("Div")
        return _walk(rest, factor / constant if divided else factor * constant, depth + 1, constant if divided else 0.0) if constant else None
    if name.startswith(("AddBackward", "SubBackward")):
        terms = [_walk(f, factor, depth + 1) for f in following if f is not None]
        known = [t for t in terms if t is not None]
        return max(known) if known and len(known) == len(terms) else None
    if name.startswith(_PASS):
        return _walk(following[0] if following else None, factor, depth + 1, divisor)
    if name.startswith("MeanBackward"):
        return factor
    if name.startswith("SumBackward"):
        return _by_hand(factor, divisor, _terms(node))
    reduction = getattr(node, "_saved_reduction", None)
    if reduction == SUM:
        return _by_hand(factor, divisor, _targets(node))
    return factor if reduction == MEAN else None


def _by_hand(factor: float, divisor: float, counts: tuple[float, ...]) -> float | None:
    """The scale of a sum that is divided afterwards, which is a mean by hand: over all of its terms, or over the samples whose terms are added up (a
    picture's pixels). A plain sum, or one that is divided by less than that, has no scale of its own."""
    fitting = [count for count in counts if count == divisor] or [count for count in counts if factor < 1 and 0 < factor * count < ROUNDING]
    return factor * fitting[0] if fitting else None


def _terms(node: Any) -> tuple[float, ...]:
    """How many terms a sum may be the sum of: all elements, or one for each sample. Products with log-probabilities are one term over all classes."""
    sizes = tuple(getattr(node, "_saved_self_sym_sizes", ()) or ())
    if not sizes:
        return ()
    for _ in range(3):
        node = next((f for f, _ in node.next_functions if f is not None), None) if node is not None else None
        if node is not None and node.name().startswith("LogSoftmax"):
            across = node._saved_dim
            sizes = sizes if across >= len(sizes) else (*sizes[:across], *sizes[across + 1 :])
    return (math.prod(sizes), sizes[0]) if sizes else ()


def _targets(node: Any) -> tuple[float, ...]:
    """How many terms a loss function's sum has: all targets but those that are ignored, or one for each sample."""
    total = getattr(node, "_saved_total_weight", None)
    if isinstance(total, torch.Tensor) and total.is_cpu and total.numel() == 1 and total > 0:
        return (float(total),)
    target = getattr(node, "_saved_target", None)
    return (target.numel(), len(target)) if isinstance(target, torch.Tensor) and target.dim() else ()


def _constant(node: Any, following: list[Any]) -> float | None:
    """The number that a loss is multiplied with or divided by, if one side of the operation has no gradient."""
    if len(following) > 1 and following[0] is not None and following[1] is not None:
        return None
    saved = node._saved_other if following and following[0] is not None else getattr(node, "_saved_self", None)
    if isinstance(saved, (int, float)):
        return abs(float(saved))
    if isinstance(saved, torch.Tensor) and saved.numel() == 1 and saved.is_cpu:
        return abs(float(saved))
    return None
