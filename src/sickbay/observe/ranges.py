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
SHELF = 256
"""Operations for which room is made at once."""


class Shelves:
    """Room for the numbers, made once and used on every traced step. A small tensor of its own for each operation would lie between the large ones that the
    model makes, and keep the allocator from joining the room that these leave: measured as 40 MB of 600 for a small transformer."""

    def __init__(self) -> None:
        self.rooms: dict[tuple[torch.device, torch.dtype], list[torch.Tensor]] = {}
        self.used: dict[tuple[torch.device, torch.dtype], int] = {}

    def room(self, output: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        key = output.device, output.dtype
        rooms, used = self.rooms.setdefault(key, []), self.used.get(key, 0)
        if used == len(rooms):
            rooms += torch.empty(2 * SHELF, dtype=output.dtype, device=output.device).unbind()
        self.used[key] = used + 2
        return rooms[used], rooms[used + 1]


class RangeWatch(Observer):
    """Keeps the range of every floating-point result of the step."""

    name = "ranges"
    sees = "the first operation that gave NaN or infinity"
    takes = ("forward",)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.taken: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self.shelves = Shelves()
        self.used = self.seen = 0
        """How many operations had been traced at the backward pass before this one, and at this one: what came before has been used."""
        session.on_output.append(self.passed)

    def passed(self, node: Node, output: torch.Tensor) -> None:
        if node.index < 0 or type(output) not in _PLAIN or not output.is_floating_point() or output.layout != torch.strided or output.is_meta:
            return
        if output.numel() and (node.grad or self.session.train_mode):  # an evaluation before the step is none of its business
            with suppress(RuntimeError):  # a type that this torch can't compare: the trace must go on
                room = self.shelves.room(output)
                torch.aminmax(output.detach(), out=room)
                self.taken[node.index] = room

    def loss_known(self, *_: Any) -> None:
        """Comes on every step, also on those that are slept through: before the loss is read, so that what counts is the one before."""
        self.used, self.seen = self.seen, len(self.session.trace.nodes) if self.session.trace is not None else 0

    def step_closed(self, _: Any) -> None:
        self.taken = {}
        self.shelves.used = {}
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
