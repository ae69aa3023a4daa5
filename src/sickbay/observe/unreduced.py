"""Losses that are computed for each element (`reduction="none"`): is their plain mean what the script trains on, or does it weigh or mask them first?

Where it does, the mean of what an evaluation computes on the same line is no validation loss: it holds padding, or targets that were never measured.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from sickbay.observe.observer import LossCall

TRIES = 8
"""Training steps on which a line is asked: masks may leave nothing out of a first batch."""
ALIKE = 1e-3
"""Rounding of a mean over many numbers, in single precision, with room to spare."""
MEAN = "MeanBackward"
MOST_NODES = 64
"""Of the graph between the loss and its elements: a mean, a division, a sum with other terms."""


class Unreduced:
    """By line of the script."""

    def __init__(self) -> None:
        self._asked: dict[Any, int] = {}
        self._weighed: set[Any] = set()
        self._pending: list[tuple[Any, float, Any]] = []

    def called(self, line: Any, call: LossCall) -> None:
        """A loss with a graph was computed element by element."""
        output = call.output
        if unreduced(call) and output.is_cpu and output.grad_fn is not None and self._asked.get(line, 0) < TRIES and len(self._pending) < TRIES:
            self._asked[line] = self._asked.get(line, 0) + 1
            self._pending.append((line, float(output.detach().float().mean()), output.grad_fn))

    def differentiated(self, loss: torch.Tensor) -> None:
        """...and this is what the script made of it."""
        if not self._pending:
            return
        pending, self._pending = self._pending, []
        value = float(loss.detach().float().mean()) if loss.is_cpu else math.nan
        for line, mean, elements in pending:
            plain = not math.isfinite(mean) or not math.isfinite(value) or math.isclose(mean, value, rel_tol=ALIKE)
            taken_by = None if plain else _taken_by(loss.grad_fn, elements)
            if taken_by is not None and not taken_by.startswith(MEAN):
                self._weighed.add(line)

    def weighs(self, line: Any, call: LossCall) -> bool:
        """Whether the plain mean of this call is not what the script takes of it."""
        return line in self._weighed and unreduced(call)


def unreduced(call: LossCall) -> bool:
    return call.options.get("reduction") == "none" and call.output.numel() > 1


def averaged(loss: torch.Tensor, elements: Any) -> bool:
    """Whether the loss holds the plain mean of these elements (given by their node in autograd's graph)."""
    taken_by = _taken_by(loss.grad_fn, elements)
    return taken_by is not None and taken_by.startswith(MEAN)


def _taken_by(node: Any, elements: Any) -> str | None:
    """The operation that takes the elements on their way to the loss, as autograd calls it; None where they do not lie behind it (or too far)."""
    ahead, met = [node], 0
    while ahead and met < MOST_NODES:
        node, met = ahead.pop(0), met + 1
        for child, _ in getattr(node, "next_functions", ()):
            if child is elements:
                return str(node.name())
            if child is not None:
                ahead.append(child)
    return None
