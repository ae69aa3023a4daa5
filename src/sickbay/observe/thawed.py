"""Parameters that were frozen when an optimizer began and get gradients later: whoever unfreezes them means them to be trained."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from sickbay.observe.observer import Observer
from sickbay.observe.registry import OptimizerEntry, ParameterEntry

if TYPE_CHECKING:
    from sickbay.observe.session import Session

MOST_PARAMETERS, MOST_OPTIMIZERS = 2000, 64
"""A script may make a new optimizer for every batch."""


class ThawWatch(Observer):
    """Whether what was unfrozen is held by an optimizer that still steps."""

    name = "thawed"
    sees = "whether parameters that are unfrozen on the way reach an optimizer"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.frozen: dict[int, list[ParameterEntry]] = {}
        """By optimizer: what needed no gradient when it first stepped."""
        self.last: dict[int, int] = {}
        """By optimizer: the step of the run at which it was last seen to step."""

    def step_ends(self, optimizer: torch.optim.Optimizer) -> None:
        entry = self.session.registry.optimizer(optimizer)
        if entry.index not in self.frozen:
            if len(self.frozen) >= MOST_OPTIMIZERS:
                return
            known = self.session.registry.parameters.values()
            self.frozen[entry.index] = [e for e in known if (t := e.ref()) is not None and not t.requires_grad][:MOST_PARAMETERS]
        if self.frozen[entry.index] and self.session.at_calls:
            self._look(entry)
        self.last[entry.index] = self.session.step

    def _look(self, entry: OptimizerEntry) -> None:
        began = self.last.get(entry.index, self.session.step)
        stepping = [o for e in self.session.registry.optimizers if self.last.get(e.index, -1) >= began and (o := e.ref()) is not None]
        held = {id(p) for o in stepping for group in o.param_groups for p in group["params"]}
        thawed = [e for e in self.frozen[entry.index] if (t := e.ref()) is not None and t.requires_grad and t.grad is not None and id(t) not in held]
        if thawed:
            if not entry.thawed_looks:  # where steps are slept through, the next look may come when the run is over
                self.session.look_closely()
            entry.thawed = tuple(e.name for e in thawed)
            entry.thawed_looks += 1
