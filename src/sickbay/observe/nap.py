"""A stretch of very short steps on which only loss, learning rate and time are taken, in as few instructions as can be.

The governor says how long a session may doze (`Governor.sleeps_until`). While nothing unusual happens (the same loss on the same line,
the same optimizer, a value near the running mean, nobody told of anything else), a step costs a few microseconds, and what was
taken of all of them is written at once when the nap ends. Anything unusual ends it before that step is counted, so that it is seen
by the observers as on any other step.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sickbay.observe.observer import JUMP

if TYPE_CHECKING:
    from sickbay.observe.observer import Site
    from sickbay.observe.registry import OptimizerEntry
    from sickbay.observe.session import Session

LONGEST = 64
"""Steps that may wait to be written, and seconds: a killed run loses no more losses than that."""
LONGEST_SECONDS = 0.25
WRAPPERS_SECONDS = 10e-6
"""What the wrappers themselves cost on a step, outside our clock: measured on a tiny network, with and without them."""

_unseen = torch._C.DisableTorchFunction
_clock = time.perf_counter


class Nap:
    """One such stretch."""

    def __init__(self, session: Session, usual: Usual, until: int) -> None:
        self.session = session
        self.usual = usual
        self.until = min(until, session.step + LONGEST)
        self.started = _clock()
        self.high = JUMP * abs(usual.site.running or 0.0) + 1e-6
        self.first = session.step
        self.rows: list[tuple[float, float, float, float, float]] = []
        """Loss, learning rate, seconds of the step, of waiting for data, and our own."""
        self.extras: list[tuple[int, dict[str, float]]] = []
        """Numbers that observers added to single steps."""
        self.loss = 0.0
        self.backwards = 0
        """...of the step under way."""
        self.own = 0.0

    # Both are called directly by the wrappers, so they contain their own mistakes.

    def backward(self, loss: Any, frame: FrameType) -> bool:
        """Take the loss; False if this is not the usual one, and the nap is over."""
        try:
            return self._backward(loss, frame)
        except Exception as e:
            self.session.nap_failed(e)
            return False

    def stepped(self, optimizer: torch.optim.Optimizer) -> bool:
        """The weights have moved: the step is over. False if it was not the usual optimizer, and the nap is over."""
        try:
            return self._stepped(optimizer)
        except Exception as e:
            self.session.nap_failed(e)
            return False

    def _backward(self, loss: Any, frame: FrameType) -> bool:
        started = _clock()
        usual = self.usual
        if frame.f_lasti == usual.lasti and frame.f_code is usual.code and type(loss) is torch.Tensor:
            with _unseen():  # by a function mode that the user holds open
                value = loss.item() if loss.is_cpu and not loss.dim() else self.high
            if -self.high < value < self.high:  # which NaN is not
                self.backwards += 1
                if not self.session.evaluations:
                    self.loss += (value - self.loss) / self.backwards
                self.own += _clock() - started
                return True
        self.end()
        return False

    def _stepped(self, optimizer: torch.optim.Optimizer) -> bool:
        now = _clock()
        session = self.session
        if optimizer is not self.usual.optimizer or not self.backwards:
            self.end()
            return False
        times = session.times
        own = self.own + times.own
        self.rows.append((self.loss, optimizer.param_groups[0]["lr"], now - (session.step_started or now) - own, times.data, own))
        if session.pulse:
            self.extras.append((session.step, session.pulse))
            session.pulse = {}
        self._count()
        times.data = times.own = 0.0
        session.since_step = 0
        session.optimizer_steps += 1
        session.step += 1
        self.usual.entry.steps += 1
        session.step_started = now
        if session.step >= self.until or now - self.started > LONGEST_SECONDS:
            self.end()
            session.wake()
        return True

    def _count(self) -> None:
        self.session.backwards += self.backwards
        self.usual.site.backwards += self.backwards
        self.loss = self.own = 0.0
        self.backwards = 0

    def end(self) -> None:
        """Write what was taken. A step that is under way is handed over to the session."""
        session, usual = self.session, self.usual
        session.nap = None
        if self.backwards:
            session.pulse[usual.loss_name] = self.loss
            session.since_step = self.backwards
            session.times.own += self.own
            self._count()
        if self.rows:
            usual.site.follow([row[0] for row in self.rows])
            self._write()

    def _write(self) -> None:
        """What was taken of all steps at once, and the account of it."""
        session, rows, names = self.session, self.rows, self.usual.names
        table = np.array(rows, dtype=np.float32)
        if session.epoch >= 0:
            names += ("epoch",)
            table = np.column_stack([table, np.full(len(rows), session.epoch, np.float32)])
        try:
            session.writer.frames("pulse", list(range(self.first, self.first + len(rows))), names, table)
            for step, extra in self.extras:
                session.writer.frame("pulse", step, tuple(extra), list(extra.values()))
        except Exception as e:
            session.abandon(e)
            return
        took = sum(row[2] for row in rows)
        own = sum(row[4] for row in rows) + len(rows) * WRAPPERS_SECONDS
        session.training_seconds += took
        session.own_seconds += own
        session.governor.step_took(took / len(rows), own / len(rows), True, True)
        session.fire("napped", self.usual.optimizer, len(rows))


def fall_asleep(session: Session) -> Nap | None:
    """A nap, if the next steps can be expected to be like the last one."""
    until = session.governor.sleeps_until(session.step)
    site, optimizer = session.site, session.stepped_last() if session.stepped_last is not None else None
    if until <= session.step or session.measure_norm or site is None or optimizer is None or session.backward_from is None:
        return None
    entry = session.registry.optimizer(optimizer)
    rate = optimizer.param_groups[0].get("lr")
    if session.loss_finite and site.running is not None and isinstance(rate, (int, float)) and entry.ref() is optimizer:
        return Nap(session, Usual(*session.backward_from, site, optimizer, entry), until)
    return None


@dataclass(slots=True)
class Usual:
    """What an ordinary step of this run is like."""

    code: CodeType
    lasti: int
    """Where its backward pass is called, as the frame there says."""
    site: Site
    optimizer: torch.optim.Optimizer
    entry: OptimizerEntry

    @property
    def loss_name(self) -> str:
        return self.site.series("loss/train")

    @property
    def names(self) -> tuple[str, ...]:
        rate = f"lr@{self.entry.index}" if self.entry.index else "lr"
        return (self.loss_name, rate, "time/step", "time/data", "time/own")
