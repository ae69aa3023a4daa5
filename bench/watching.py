"""sickbay as a contestant: one session for the whole measurement, so that the governor's steady state is what is timed.

Switched off, every hook is really taken out (and `assert_bare` looks). The session's clocks are moved on by the pause,
so for it the time in between did not happen: it neither rewrites its facts more often than in real life nor takes the
pause for a long step. This file is the only one of the bench that knows the insides of a Session.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F
from torch.optim import optimizer as optimizers

from bench.measure import Contestant, Step, clock, run_block
from bench.workloads import Workload
from sickbay.observe import starting
from sickbay.observe.governor import AWAKE_STEPS
from sickbay.observe.hooks import put_in_place
from sickbay.observe.session import Session
from sickbay.observe.watching import Patient
from sickbay.settings import Settings

SETTLE_STEPS, SETTLE_SECONDS, SETTLE_LEAST = AWAKE_STEPS + 4, 8.0, 66
"""Before the blocks: on its first steps a session watches all that is cheap whatever it costs, and makes its experiments with the model; on long steps most of that is over after 64 of them."""
_PATCHED: tuple[tuple[Any, str], ...] = (
    (torch.nn.Module, "__call__"),
    (torch.nn.Module, "__init__"),
    (torch.autograd, "backward"),
    (F, "cross_entropy"),
)
_BARE = [getattr(owner, name) for owner, name in _PATCHED]


def assert_bare() -> None:
    """Torch is as it was before sickbay came."""
    left = [f"{owner.__name__}.{name}" for (owner, name), bare in zip(_PATCHED, _BARE, strict=True) if getattr(owner, name) is not bare]
    if optimizers._global_optimizer_pre_hooks or optimizers._global_optimizer_post_hooks:
        left.append("optimizer hooks")
    if torch._C._len_torch_function_stack():
        left.append("a torch function mode")
    if left:
        raise RuntimeError(f"sickbay was switched off, but left in place: {', '.join(left)}")


@dataclass(frozen=True)
class Beginning:
    """What the first steps cost, before the governor decides."""

    entering: float
    """Seconds to put the hooks in place."""
    steps: list[float]
    """Seconds of each of the first, fully measured steps."""
    plain: float
    """Seconds of such a step without us."""
    settled: int
    """Steps until the blocks begin,"""
    share: float
    """...and what they cost by the session's own account, as a share of their time."""

    @property
    def extra(self) -> float:
        """Seconds added in all."""
        return self.entering + sum(self.steps) - self.plain * len(self.steps)


@dataclass(frozen=True)
class Settled:
    """The session's counters when the governor had settled: all accounts begin here."""

    step: int = 0
    runs: int = 0
    own: float = 0.0
    training: float = 0.0


class Watched(Contestant):
    """A session that can be switched off and on again."""

    def __init__(self, workload: Workload, settings: Settings, name: str = "") -> None:
        self.settings = settings
        self.name = name or f"sickbay, budget {100 * settings.budget:g} %"
        self._folder = Path(tempfile.mkdtemp(prefix="sickbay-bench-"))
        self._patient = Patient((workload.model,), (workload.optimizer,), self._folder, settings)
        self._session: Session | None = None
        self._paused_at: float | None = None
        self._settled = Settled()

    @property
    def session(self) -> Session:
        if self._session is None:
            raise RuntimeError("begin() comes first")
        return self._session

    def begin(self, step: Step, first: int, settle: bool = True) -> Beginning:
        """Enter, take the first (fully measured) steps, and let the governor settle."""
        plain = statistics.median(run_block(step, self, 3))
        started = clock()
        self._patient.__enter__()
        entering = clock() - started
        self._session = self._patient._session
        times = run_block(step, self, first)
        ends = clock() + SETTLE_SECONDS
        while settle and self.session.step < first + SETTLE_STEPS and (clock() < ends or self.session.step < SETTLE_LEAST):
            step()
        self.off()
        session = self.session
        self._settled = Settled(session.step, session.governor.frame.runs, session.own_seconds, session.training_seconds)
        return Beginning(entering, times, plain, session.step, session.own_seconds / max(session.training_seconds, 1e-9))

    def on(self) -> None:
        session = self.session
        put_in_place(session)
        starting.make_current(session)
        self._skip_pause(clock() - (self._paused_at or clock()))
        session.tell("step_planned")  # opens the trace again if the next step is to be sampled

    def off(self) -> None:
        session = self.session
        if session.off:
            raise RuntimeError("the session gave up (see bootstrap-errors.txt in its folder)")
        if session.trace is not None:
            session.trace.end()
        session.remove_hooks()
        self._paused_at = clock()
        assert_bare()

    def _skip_pause(self, seconds: float) -> None:
        session = self.session
        if session.step_started is not None:
            session.step_started += seconds
        session.recording.paused(seconds)
        session.writer._flushed_at += seconds

    @property
    def own_account(self) -> float:
        """Share of training time that the session itself says it took, since it settled."""
        own, training = self.session.own_seconds - self._settled.own, self.session.training_seconds - self._settled.training
        return own / training if training else 0.0

    @property
    def sampling_interval(self) -> float:
        """Steps from one closely measured step to the next, since the governor settled."""
        steps, runs = self.session.step - self._settled.step, self.session.governor.frame.runs - self._settled.runs
        return steps / max(runs, 0.5)

    @property
    def failures(self) -> str:
        """Observers that gave up: what they no longer do costs nothing, so the numbers would flatter us."""
        return "; ".join(why for why in self.session.limits.values() if "failed" in why)

    def close(self) -> None:
        if self._session is not None:
            self._patient.__exit__(None, None, None)
            self._session = None
        shutil.rmtree(self._folder, ignore_errors=True)
