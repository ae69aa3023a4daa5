"""The training step drawn as a timeline: which calls, in which order, on which of the user's lines."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import torch

from sickbay import facts
from sickbay.nouns import Place
from sickbay.observe.observer import ForwardCall, LossCall, Observer, Site
from sickbay.observe.places import place_of

if TYPE_CHECKING:
    from sickbay.observe.session import Session

MOST_PATTERNS = 32
MOST_CALLS = 24


class SchedulerEntry:
    """One learning-rate scheduler."""

    def __init__(self, scheduler: Any, place: Place | None, first: int) -> None:
        self.scheduler = weakref.ref(scheduler)
        self.kind = type(scheduler).__name__
        self.place = place
        self.first = self.last = first
        self.steps = 0
        self.settings = _settings(scheduler)

    def fact(self) -> facts.Scheduler:
        spent = self.last - self.first
        return facts.Scheduler(kind=self.kind, stepped_at=self.place, steps=self.steps, optimizer_steps=spent, settings=self.settings)


def _settings(scheduler: Any) -> dict[str, float]:
    """The numbers it was built with, as far as torch keeps them under these names."""
    found: dict[str, float] = {}
    for name in ("step_size", "gamma", "T_max", "eta_min", "total_steps", "total_iters", "T_0", "T_mult", "factor", "patience", "end_factor"):
        value = getattr(scheduler, name, None)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            found[name] = float(value)
    milestones = getattr(scheduler, "milestones", None)
    if milestones and not isinstance(milestones, (int, float)):
        numbers = sorted(float(m) for m in milestones if isinstance(m, (int, float)))
        found |= {"first_milestone": numbers[0], "last_milestone": numbers[-1]} if numbers else {}
    return found


class TimelineWatch(Observer):
    """Counts distinct orders of calls between optimizer steps; repeats within a step are written once."""

    name = "timeline"
    sees = "the order of calls within a step"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.calls: list[str] = []
        self.patterns: dict[tuple[str, ...], list[int]] = {}
        self.places: dict[str, Place] = {}
        self.counts: dict[str, int] = {}
        self.schedulers: dict[int, SchedulerEntry] = {}

    def _call(self, kind: str, key: Any = None) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if key is not None and kind not in self.places:
            self.places[kind] = key if isinstance(key, Place) else place_of(*key)
        if (not self.calls or self.calls[-1] != kind) and len(self.calls) < MOST_CALLS:
            self.calls.append(kind)

    def zeroed(self, _: Any, key: Any) -> None:
        self._call("zero_grad", key)

    def forward_begins(self, call: ForwardCall) -> None:
        self._call("forward" if call.grad else "evaluate", call.place_key)

    def loss_called(self, call: LossCall | None) -> None:
        if call is not None and call.grad:
            self._call("loss")

    def backward_begins(self, _: torch.Tensor, site: Site) -> None:
        self._call("backward", site.place)

    def clipped(self, kind: str, limit: Any, norm: Any, key: Any) -> None:
        self._call("clip", key)
        if isinstance(norm, torch.Tensor) and norm.numel() == 1:
            if norm.is_cpu:
                self.session.pulse["clip_norm"] = norm.item()
            else:
                self.session.later("clip_norm", norm)

    def scaled(self, *_: Any) -> None:
        self._call("scale")

    def called(self, kind: str, key: Any) -> None:
        self._call(kind, key)

    def scheduled(self, scheduler: Any, key: Any) -> None:
        self._call("scheduler", key)
        entry = self.schedulers.get(id(scheduler))
        if entry is None and len(self.schedulers) < 16:
            entry = self.schedulers[id(scheduler)] = SchedulerEntry(scheduler, place_of(*key) if key else None, self.session.optimizer_steps)
        if entry is not None:
            entry.steps += 1
            entry.last = self.session.optimizer_steps

    def mode_set(self, _: Any, mode: bool, place: Place | None) -> None:
        self._call("train" if mode else "eval", place)

    def step_begins(self, _: Any, key: Any, closure: bool) -> None:
        self._call("step", key)

    def step_closed(self, step: int) -> None:
        pattern = tuple(self.calls)
        seen = self.patterns.get(pattern)
        if seen is not None:
            seen[0] += 1
            seen[2] = step
        elif len(self.patterns) < MOST_PATTERNS:
            self.patterns[pattern] = [1, step, step]
        self.calls.clear()

    def woke(self) -> None:
        self.calls.clear()

    def report(self) -> None:
        for place in self.places.values():
            self.session.keep_source(place)
        for entry in self.schedulers.values():
            self.session.keep_source(entry.place)
        self.session.writer.fact("schedulers", [entry.fact() for entry in self.schedulers.values()])
        patterns = [facts.CallPattern(calls=c, count=n, first=first, last=last) for c, (n, first, last) in self.patterns.items()]
        patterns.sort(key=lambda p: -p.count)
        self.session.writer.fact("timeline", facts.Timeline(patterns=tuple(patterns), places=dict(self.places), counts=dict(self.counts)))
