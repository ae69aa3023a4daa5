"""Which labels, tokens or indices an operation refused: their values, what would have been legal, and whose they are."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

import torch

from sickbay import facts

MOST_VALUES, MOST_ROWS = 8, 16
WORTH_A_LOOK = (
    "out of bounds",
    "out of range",
    "Class values must be",
    "scalar type",
    "scalar types",
    "not implemented for",
    "target dtype",
    "class probabilities",
    "multi-target",
    "n_classes",
    "num_classes",
    "one_hot is only applicable",
)
"""Words of the messages with which torch refuses indices."""


def bad_indices(crash: facts.Crash, held: Mapping[str, Any], resolve: Callable[[ast.AST], Any], samples: Any) -> facts.BadIndices | None:
    """`held` are the variables of torch's own frames, `resolve` looks up what the user's failing expression names."""
    if not any(words in crash.message for words in WORTH_A_LOOK):
        return None
    found = _of_loss(crash, held) or _of_embedding(held) or _of_call(crash, resolve)
    if found is None:
        return None
    function, indices, allowed, ignored = found
    return _told(function, indices, allowed, ignored, samples)


Found = tuple[str, torch.Tensor, int, int | None]


def _of_loss(crash: facts.Crash, held: Mapping[str, Any]) -> Found | None:
    given, target = held.get("input"), held.get("target")
    if not isinstance(given, torch.Tensor) or not isinstance(target, torch.Tensor) or not given.dim():
        return None
    if crash.operation.lower().replace("loss", "").strip("_") not in ("cross_entropy", "crossentropy", "nll", "multi_margin", "multimargin"):
        return None
    ignored = held.get("ignore_index", getattr(held.get("self"), "ignore_index", -100))
    return "cross_entropy" if "ross" in crash.operation else "nll_loss", target, int(given.shape[1 if given.dim() > 1 else 0]), ignored


def _of_embedding(held: Mapping[str, Any]) -> Found | None:
    weight, owner = held.get("weight"), held.get("self")
    if weight is None and isinstance(owner, (torch.nn.Embedding, torch.nn.EmbeddingBag)):
        weight = owner.weight
    indices = held.get("input")
    if not isinstance(weight, torch.Tensor) or not isinstance(indices, torch.Tensor) or weight.dim() != 2 or indices.is_floating_point():
        return None
    if isinstance(owner, torch.nn.Module) and not isinstance(owner, (torch.nn.Embedding, torch.nn.EmbeddingBag)):
        return None
    return "embedding", indices, int(weight.shape[0]), None


def _of_call(crash: facts.Crash, resolve: Callable[[ast.AST], Any]) -> Found | None:
    """A function that has no frame of its own: its arguments as far as the user's expression names them."""
    try:
        node = ast.parse(crash.call.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    if isinstance(node, ast.Subscript):
        return _of_subscript(node, resolve)
    if not isinstance(node, ast.Call):
        return None
    name = crash.operation
    args = list(node.args)
    if name in ("gather", "scatter", "scatter_", "scatter_add_", "scatter_add", "index_select", "take_along_dim"):
        if isinstance(node.func, ast.Attribute) and isinstance(resolve(node.func.value), torch.Tensor):
            args = [node.func.value, *args]
        named = {k.arg: k.value for k in node.keywords}
        where, index = [*args[1:3], None, None][:2] if name != "take_along_dim" else (args[2], args[1])
        source, dim, indices = resolve(args[0]), resolve(where or named["dim"]), resolve(index or named["index"])
        if isinstance(source, torch.Tensor) and isinstance(indices, torch.Tensor) and isinstance(dim, int):
            return name, indices, int(source.shape[dim]), None
    if name == "one_hot" and args:
        classes = resolve(args[1]) if len(args) > 1 else next((resolve(k.value) for k in node.keywords if k.arg == "num_classes"), None)
        indices = resolve(args[0])
        if isinstance(indices, torch.Tensor):
            return "one_hot", indices, classes if isinstance(classes, int) and classes > 0 else 0, None
    return None


def _of_subscript(node: ast.Subscript, resolve: Callable[[ast.AST], Any]) -> Found | None:
    source = resolve(node.value)
    parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    for dim, part in enumerate(parts):
        indices = resolve(part) if not isinstance(part, ast.Slice) else None
        if not isinstance(source, torch.Tensor) or not isinstance(indices, torch.Tensor) or indices.dtype == torch.bool or dim >= source.dim():
            continue
        if bool(((indices >= source.shape[dim]) | (indices < -source.shape[dim])).any()):
            return "index", indices, int(source.shape[dim]), None
    return None


def _told(function: str, indices: torch.Tensor, allowed: int, ignored: int | None, samples: Any) -> facts.BadIndices | None:
    if not indices.numel() or not indices.is_cpu:
        return None
    plain = indices.detach()
    wrong = (plain < 0) | ((plain >= allowed) if allowed else torch.zeros_like(plain, dtype=torch.bool))
    if function == "index":
        wrong = (plain < -allowed) | (plain >= allowed)
    if ignored is not None:
        wrong &= plain != ignored
    rows = wrong.reshape(wrong.shape[0], -1).any(1).nonzero().flatten().tolist() if wrong.dim() else []
    whole = not plain.is_floating_point() or bool((plain == plain.round()).all())
    return facts.BadIndices(
        function=function,
        dtype=str(plain.dtype).removeprefix("torch."),
        shape=tuple(plain.shape),
        allowed=allowed,
        ignored=ignored,
        lowest=float(plain.min()),
        highest=float(plain.max()),
        values=tuple(float(v) for v in plain[wrong].unique()[:MOST_VALUES]),
        count=int(wrong.sum()),
        total=plain.numel(),
        rows=tuple(rows[:MOST_ROWS]),
        samples=_drawn(samples, rows[:MOST_ROWS], plain.shape[0] if plain.dim() else 0),
        one_hot=plain.dim() == 2 and bool(((plain == 0) | (plain == 1)).all()) and bool((plain.sum(1) == 1).all()),
        whole=whole,
    )


def _drawn(samples: Any, rows: list[int], length: int) -> tuple[int, ...]:
    if not isinstance(samples, (list, tuple)) or len(samples) != length or not all(isinstance(s, int) for s in samples):
        return ()
    return tuple(samples[r] for r in rows)
