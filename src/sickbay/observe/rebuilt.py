"""Optimizers that are made anew while training goes on: the new one knows nothing of what the old one had gathered."""

from __future__ import annotations

import weakref
from types import FrameType
from typing import TYPE_CHECKING

import torch

from sickbay import facts
from sickbay.nouns import Place
from sickbay.observe.observer import Observer
from sickbay.observe.registry import sample

if TYPE_CHECKING:
    from sickbay.observe.session import Session

MOST = 16
BLOCK = 32


class Line:
    """One line that makes optimizers."""

    def __init__(self, place: Place, optimizer: torch.optim.Optimizer) -> None:
        self.place = place
        self.kind = type(optimizer).__name__
        self.stateful = self.kind != "SGD" or bool(optimizer.defaults.get("momentum"))
        self.times = self.rate_changed = 0
        self.steps_made = 0
        self.follow(optimizer)

    def follow(self, optimizer: torch.optim.Optimizer) -> None:
        self.optimizer = id(optimizer)
        self.tensors = _identities(optimizer)
        self.first = weakref.ref(optimizer.param_groups[0]["params"][0])
        self.rate = optimizer.param_groups[0].get("lr")
        self.steps = 0
        self.left: torch.Tensor | None = None
        """A part of the first tensor as its last step left it; not of the first optimizer, since most lines make only one."""

    def rebuilt(self, optimizer: torch.optim.Optimizer) -> None:
        tensor = self.first()
        same = tensor is not None and self.tensors == _identities(optimizer)
        if same and tensor is not None and self.left is not None and torch.equal(sample(tensor, BLOCK), self.left):
            self.times += 1
            self.steps_made += self.steps
            self.rate_changed += self.rate != optimizer.param_groups[0].get("lr")
        self.follow(optimizer)


def _identities(optimizer: torch.optim.Optimizer) -> tuple[int, ...]:
    return tuple(id(p) for group in optimizer.param_groups for p in group["params"])


class RebuiltWatch(Observer):
    """Compares each optimizer with the one that the same line made before."""

    name = "rebuilt"
    sees = "optimizers that are made anew"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.lines: dict[tuple[str | None, int | None], Line] = {}
        self.newest: dict[int, Line] = {}

    def optimizer_built(self, optimizer: torch.optim.Optimizer, place: Place | None, frame: FrameType | None) -> None:
        if place is None or not optimizer.param_groups or not optimizer.param_groups[0]["params"]:
            return
        line = self.lines.get((place.file, place.line))
        if line is not None:
            self.newest.pop(line.optimizer, None)
            line.rebuilt(optimizer)
            self.newest[id(optimizer)] = line
        elif len(self.lines) < MOST:
            self.lines[place.file, place.line] = Line(place, optimizer)

    def stepped(self, optimizer: torch.optim.Optimizer) -> None:
        self._count(optimizer, 1)

    def napped(self, optimizer: torch.optim.Optimizer, steps: int) -> None:
        self._count(optimizer, steps)

    def _count(self, optimizer: torch.optim.Optimizer, steps: int) -> None:
        line = self.newest.get(id(optimizer))
        if line is not None and (tensor := line.first()) is not None:
            line.steps += steps
            line.left = sample(tensor, BLOCK)

    def report(self) -> None:
        found = [line for line in self.lines.values() if line.times]
        for line in found:
            self.session.keep_source(line.place)
        self.session.writer.fact(
            "rebuilt",
            [
                facts.Rebuilt(
                    built_at=x.place,
                    kind=x.kind,
                    stateful=x.stateful,
                    times=x.times,
                    steps=x.steps_made / x.times,
                    rate_changed=x.rate_changed,
                )
                for x in found
            ],
        )
