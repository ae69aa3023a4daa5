"""Autograd's own graph of a loss, as it stands before backward: its nodes in a fixed order and the values it has kept.

The graph is there on every step, traced or not. It keeps the inputs or results of most operations, and each kept value knows which
node made it. Only values that are kept as they are get looked at: where the script (or checkpointing) put hooks on saved tensors,
looking would run them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import torch

MOST_NODES = 20_000
LEAF = "torch::autograd::AccumulateGrad"


class Live:
    """The nodes behind a loss, nearest first, always in the same order for the same structure."""

    def __init__(self, loss: torch.Tensor) -> None:
        self.nodes: list[Any] = [loss.grad_fn] if loss.grad_fn is not None else []
        self.children: list[list[int | None]] = []
        """For each node and each of its inputs: the node that made it; None for a constant."""
        self.whole = True
        index = {node: i for i, node in enumerate(self.nodes)}
        for node in self.nodes:
            below: list[int | None] = []
            for following, _ in node.next_functions:
                if following is None:
                    below.append(None)
                    continue
                found = index.get(following)
                if found is None:
                    if len(self.nodes) >= MOST_NODES:
                        self.whole = False
                        below.append(None)
                        continue
                    found = index[following] = len(self.nodes)
                    self.nodes.append(following)
                below.append(found)
            self.children.append(below)
        self.names: list[str] = [node.name() for node in self.nodes]

    def made(self, index: int) -> list[int]:
        """The nodes that made a node's inputs."""
        return [i for i in self.children[index] if i is not None]

    def from_the_leaves(self) -> list[int]:
        """All nodes so that inputs come before what was made of them: the order in which they ran."""
        return sorted(range(len(self.nodes)), key=lambda i: -1 if self.names[i] == LEAF else self.nodes[i]._sequence_nr())


def saved(node: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors that a node keeps, by name, as far as they may be looked at."""
    for name in dir(node):
        if name.startswith("_raw_saved_"):
            for tensor in saved_as(node, name.removeprefix("_raw_saved_")):
                yield name.removeprefix("_raw_saved_"), tensor


def saved_as(node: Any, name: str) -> list[torch.Tensor]:
    """The tensor (or tensors) that a node keeps under one name."""
    with suppress(RuntimeError, AttributeError):  # freed, changed in place since, or not kept
        raw = getattr(node, f"_raw_saved_{name}")
        if any(r.unpack_hook is not None for r in (raw if isinstance(raw, (list, tuple)) else (raw,))):
            return []
        value = getattr(node, f"_saved_{name}") if name != "tensors" or not hasattr(node, "saved_tensors") else node.saved_tensors
        values = value if isinstance(value, (list, tuple)) else (value,)
        return [v for v in values if isinstance(v, torch.Tensor)]
    return []


def shape_of(node: Any) -> tuple[int, ...] | None:
    """The shape of what a node's operation gave (its first output)."""
    with suppress(RuntimeError, AttributeError, IndexError, TypeError):
        return tuple(int(n) for n in node._input_metadata[0].shape)
    return None
