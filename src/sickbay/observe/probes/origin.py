"""Which dimension of an input holds independent samples. Only what is known counts: a guess would turn time into samples."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from sickbay.observe.trace import Node, Trace

HOPS = 8
_PICKS = frozenset({"getitem", "index_select", "index", "take_along_dim"})
_SUMS = frozenset({"add", "radd", "iadd"})


class Origin:
    """Follows loaders and the making of batches until the experiments are done."""

    def __init__(self) -> None:
        self._loaders: dict[int, tuple[Any, int, bool]] = {}
        self.size: int | None = None
        """Samples in the newest batch of a loader that collects single samples; None if there is none."""
        self.shuffled = False
        self.picked: dict[int, int] = {}
        """By module: the dimension along which its input was put together sample by sample (an index vector, a stack)."""

    def loader_started(self, loader: Any, iterator: Any) -> None:
        size = getattr(loader, "batch_size", None)
        if isinstance(size, int) and len(self._loaders) < 64:
            sequential = isinstance(getattr(loader, "sampler", None), torch.utils.data.SequentialSampler)
            self._loaders[id(iterator)] = (weakref.ref(iterator), size, not sequential)

    def batch_loaded(self, iterator: Any, batch: Any) -> None:
        reference, size, shuffled = self._loaders.get(id(iterator), (None, 0, False))
        held = batch.values() if isinstance(batch, dict) else batch if isinstance(batch, (list, tuple)) else (batch,)
        tensors = [t for t in held if isinstance(t, torch.Tensor) and t.dim()]
        known = reference is not None and reference() is iterator and bool(tensors) and all(t.shape[0] == size for t in tensors)
        self.size, self.shuffled = (size, shuffled) if known else (None, False)

    def look_at(self, module: torch.nn.Module, x: torch.Tensor, trace: Trace) -> None:
        """On a step that is followed: how was this input put together?"""
        index = trace.maker(x)
        for _ in range(HOPS):
            if index is None:
                return
            node = trace.nodes[index]
            found = _picked(node, x, direct=trace.maker(x) == index)
            if found is not None:
                if found < x.dim() and x.shape[found] == node.shape[found]:
                    self.picked[id(module)] = found
                return
            index = node.args[0] if node.args else None

    def look_back(self, module: torch.nn.Module, x: torch.Tensor, trace: Trace) -> None:
        """After a pass that was followed: words to which positions are added, the same ones for every sample, say which dimension is which."""
        if id(module) in self.picked or x.dim() != 2 or x.is_floating_point():
            return
        found = {d for node in trace.nodes if (d := _shared_along(node, tuple(x.shape), trace)) is not None}
        if len(found) == 1:
            self.picked[id(module)] = found.pop()

    def dimension(self, module: torch.nn.Module, inputs: list[torch.Tensor], index: int) -> int | None:
        """The dimension of samples of one input of a model."""
        x = inputs[index]
        if x.dim() >= 4 and x.is_floating_point() and any(isinstance(m, torch.nn.modules.conv._ConvNd) for m in module.modules()):
            return 0
        if (picked := self.picked.get(id(module))) is not None:
            return picked if picked < x.dim() else None
        alone = x.dim() < 3 and x.is_floating_point()  # rows read in order may be one series, cut into batches
        if self.size is None or (alone and not self.shuffled):
            return None
        fitting = [d for d, size in enumerate(x.shape) if size == self.size]
        return fitting[0] if fitting and (len(fitting) == 1 or fitting[0] == 0) else None


def _picked(node: Node, x: torch.Tensor, direct: bool) -> int | None:
    """The dimension along which an operation picks or stacks samples, if it does."""
    if node.name == "stack" and node.shape and len(node.shapes) == node.shape[0] and all(s == node.shape[1:] for s in node.shapes):
        return 0
    if node.name not in _PICKS or not node.shapes or len(node.shapes[0]) != len(node.shape):
        return None
    cut = [d for d, (before, after) in enumerate(zip(node.shapes[0], node.shape, strict=True)) if before != after]
    by_vector = any(s == (node.shape[d],) for d in cut for s in node.shapes[1:])
    by_list = direct and len(node.shapes) == 1 and not x._is_view()  # a slice would be a view; a list or array copies
    return cut[0] if len(cut) == 1 and (by_vector or by_list) else None


def _shared_along(node: Node, words: tuple[int, ...], trace: Trace) -> int | None:
    """The dimension of the words along which what is added to their embedding is the same: `embed(x) + position[:, :length]`."""
    if node.name not in _SUMS or len(node.shapes) != 2 or node.shape[:2] != words or len(node.shape) != 3 or 1 in words:
        return None
    for own, other in ((0, 1), (1, 0)):
        added = (*[1] * (3 - len(node.shapes[other])), *node.shapes[other])
        if node.shapes[own] == node.shape and added in ((1, *node.shape[1:]), (node.shape[0], 1, node.shape[2])) and _embeds(node.args[own], trace):
            return added.index(1)
    return None


def _embeds(index: int | None, trace: Trace) -> bool:
    """Embedded words, maybe scaled or dropped out since."""
    for _ in range(HOPS):
        node = trace.nodes[index] if index is not None else None
        if node is None or node.name == "embedding":
            return node is not None
        index = node.args[0] if node.args else None
    return False


def by_design(module: torch.nn.Module, inputs: list[torch.Tensor], index: int, count: int) -> bool:
    """Samples are meant to meet: an adjacency or edge list comes with them, or a second set of the same kind (support and query)."""
    others = [t for i, t in enumerate(inputs) if i != index]
    if any(t.dim() > 1 and t.shape[1:] == inputs[index].shape[1:] and t.dtype == inputs[index].dtype for t in others):
        return True
    kept = [b for m in module.modules() for b in (*m._buffers.values(), *vars(m).values()) if isinstance(b, torch.Tensor)]
    square = any(t.dim() >= 2 and tuple(t.shape[-2:]) == (count, count) for t in (*others, *kept))
    edges = any(t.dim() == 2 and not t.is_floating_point() and t.shape[0] == 2 and t.shape[1] != count for t in others)
    return square or edges or any(t.layout != torch.strided for t in kept)
