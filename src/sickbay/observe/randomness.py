"""Whether the random numbers of training come again: a generator that is seeded anew on the way draws the same batches anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sickbay import facts
from sickbay.observe.observer import ForwardCall, Observer

if TYPE_CHECKING:
    from sickbay.observe.session import Session

FIRST_STEPS = 256


class RandomWatch(Observer):
    """Looks at the state of torch's and numpy's own generators before the forward passes of the first steps, and draws nothing."""

    name = "randomness"
    sees = "whether random numbers come again"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.states: dict[str, set[int]] = {"torch": set(), "numpy": set()}
        self.last: dict[str, int] = {}
        self.looked_at = -1
        self.seen = 0
        self.again = dict.fromkeys(self.states, 0)

    def forward_begins(self, call: ForwardCall) -> None:
        step = self.session.step
        if not call.grad or step >= FIRST_STEPS or step == self.looked_at:
            return
        self.looked_at = step
        self.seen += 1
        for name, state in (("torch", torch.get_rng_state().numpy().tobytes()), ("numpy", _numpy_state())):
            mark = hash(state)
            if self.last.get(name) not in (None, mark):  # something was drawn since the step before
                self.again[name] += mark in self.states[name]
            self.states[name].add(mark)
            self.last[name] = mark

    def report(self) -> None:
        self.session.writer.fact("randomness", facts.Randomness(seen=self.seen, again=max(self.again.values())))


def _numpy_state() -> bytes:
    # The script's own, which is only looked at.
    state: Any = np.random.get_state()
    return np.asarray(state[1]).tobytes() + str(state[2]).encode()
