"""Probabilities back to the logits they were made from."""

from __future__ import annotations

from typing import Any

SMALLEST = 1e-30
"""Far below any probability that single precision still changes; its logarithm is finite."""
EDGE = 1e-6
SHAPING = (
    "View",
    "Squeeze",
    "Unsqueeze",
    "Reshape",
    "Select",
    "Slice",
    "Clone",
    "Alias",
    "ToCopy",
    "Permute",
    "Transpose",
    "TBackward",
    "Unsafe",
    "Index",
)
"""Autograd's names for operations that only move numbers."""


def made_by(tensor: Any, *operations: str) -> bool:
    """Whether autograd says that the newest operation on its numbers was one of these ("Softmax", "Sigmoid")."""
    node = tensor.grad_fn
    for _ in range(8):
        if node is None:
            return False
        name = type(node).__name__.lstrip("_")
        if name.startswith(operations):
            return True
        if not name.startswith(SHAPING) or not node.next_functions:
            return False
        node = node.next_functions[0][0]
    return False


def sums_to_one(tensor: Any, axis: int) -> bool:
    values = tensor.detach()
    return bool((values >= 0).all()) and bool(((values.float().sum(axis) - 1).abs() < 1e-3).all())


def from_softmax(tensor: Any) -> Any:
    """Its logarithm: a softmax gives exactly the same probabilities from it as from the logits."""
    return tensor.clamp_min(SMALLEST).log()


def from_sigmoid(tensor: Any) -> Any:
    return tensor.logit(eps=EDGE)
