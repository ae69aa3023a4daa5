"""The smallest and largest value of what each traced operation made.

Two numbers per operation, taken only on steps that are traced in full, and looked at only when something asks: then they
tell where NaN or infinity first came up, and whether a logarithm, a root or a division came to the edge.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import torch

from sickbay.observe.observer import Observer
from sickbay.observe.trace import Node

if TYPE_CHECKING:
    from sickbay.observe.session import Session

_PLAIN = (torch.Tensor, torch.nn.Parameter)


class RangeWatch(Observer):
    """Keeps the range of every floating-point result of the step."""

    name = "ranges"
    sees = "the first operation that gave NaN or infinity"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.taken: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self.used = self.seen = 0
        """How many operations had been traced at the backward pass before this one, and at this one: what came before has been used."""
        session.on_output.append(self.passed)

    def passed(self, node: Node, output: torch.Tensor) -> None:
        if node.index < 0 or type(output) not in _PLAIN or not output.is_floating_point() or output.layout != torch.strided or output.is_meta:
            return
        if output.numel() and (node.grad or self.session.train_mode):  # an evaluation before the step is none of its business
            with suppress(RuntimeError):  # a type that this torch can't compare: the trace must go on
                self.taken[node.index] = torch.aminmax(output.detach())

    def loss_known(self, *_: Any) -> None:
        """Comes on every step, also on those that are slept through: before the loss is read, so that what counts is the one before."""
        self.used, self.seen = self.seen, len(self.session.trace.nodes) if self.session.trace is not None else 0

    def step_closed(self, _: Any) -> None:
        self.taken = {}
        self.used = self.seen = 0

    def range(self, index: int | None) -> tuple[float, float] | None:
        """Smallest and largest value of what a node made: both NaN if any is."""
        found = self.taken.get(index) if index is not None else None
        return (found[0].item(), found[1].item()) if found is not None else None

    def finite(self, index: int | None) -> bool:
        """Whether all values were finite (also if nothing is known of them)."""
        found = self.range(index)
        return found is None or (math.isfinite(found[0]) and math.isfinite(found[1]))


def ranges_of(session: Session) -> RangeWatch | None:
    return next((o for o in session.observers if isinstance(o, RangeWatch)), None)
