"""Learning-rate schedulers: where each is built, how often and from where it is stepped, and what numbers it was given."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import torch

from sickbay import facts
from sickbay.nouns import Place
from sickbay.observe.observer import Observer
from sickbay.observe.places import expression, place_of, user_frame
from sickbay.observe.syntax import receiver

if TYPE_CHECKING:
    from sickbay.observe.session import Session

MOST = 16
MOST_PLACES = 4
SETTINGS = (
    "step_size", "gamma", "T_max", "eta_min", "total_steps", "total_iters", "T_0", "T_mult", "factor", "patience", "end_factor", "start_factor",
)  # fmt: skip


class Entry:
    """One learning-rate scheduler."""

    def __init__(self, scheduler: Any, built_at: Place | None, optimizer: int | None, since: int) -> None:
        self.ref = weakref.ref(scheduler)
        self.kind = type(scheduler).__name__
        self.built_at = built_at
        self.optimizer = optimizer
        self.since = self.last = since
        """Steps of its optimizer when it was built, and when it was last stepped."""
        self.calls_in_gap = 0
        self.variable = ""
        self.places: dict[Any, Place | None] = {}
        self.steps = self.gaps = self.doubled = self.before_first = 0
        self.part = False
        self.observed = hasattr(type(scheduler).step, "__wrapped__")
        self.settings = settings_of(scheduler)
        self.mode = str(getattr(scheduler, "mode", "")) if self.kind == "ReduceLROnPlateau" else ""
        self.metrics: list[float] = []
        """First, last, lowest and highest number that it was given."""

    def stepped(self, key: Any, count: int) -> None:
        if key not in self.places and len(self.places) < MOST_PLACES:
            self.places[key] = place_of(*key) if key else None
        self.steps += 1
        if count == 0:
            self.before_first += 1
        if self.steps == 1 or count != self.last:
            self.last, self.calls_in_gap = count, 0
            self.gaps += 1
        self.calls_in_gap += 1
        self.doubled += self.calls_in_gap == 2

    def measured(self, metric: float) -> None:
        if not self.metrics:
            self.metrics = [metric] * 4
        self.metrics[1:] = [metric, min(self.metrics[2], metric), max(self.metrics[3], metric)]

    def fact(self, count: int) -> facts.Scheduler:
        places = [p for p in self.places.values() if p is not None]
        first, last, lowest, highest = self.metrics or (None,) * 4
        return facts.Scheduler(
            kind=self.kind,
            variable=self.variable,
            optimizer=self.optimizer,
            built_at=self.built_at,
            stepped_at=places[0] if places else None,
            also_stepped_at=tuple(places[1:]),
            steps=self.steps,
            optimizer_steps=count - self.since,
            stepped_gaps=self.gaps,
            doubled_gaps=self.doubled,
            before_first=self.before_first,
            part=self.part,
            observed=self.observed,
            settings=self.settings,
            mode=self.mode,
            metric_first=first,
            metric_last=last,
            metric_lowest=lowest,
            metric_highest=highest,
        )


def settings_of(scheduler: Any) -> dict[str, float]:
    """The numbers it was built with, as far as torch keeps them under these names."""
    found: dict[str, float] = {}
    for name in SETTINGS:
        value = getattr(scheduler, name, None)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            found[name] = float(value)
    base = getattr(scheduler, "base_lrs", None)
    if isinstance(base, list) and base and isinstance(base[0], (int, float)):
        found["base_lr"] = float(base[0])
    milestones = getattr(scheduler, "milestones", None) or getattr(scheduler, "_milestones", None)
    if milestones and not isinstance(milestones, (int, float)):
        numbers = sorted(float(m) for m in milestones if isinstance(m, (int, float)))
        found |= {"first_milestone": numbers[0], "last_milestone": numbers[-1]} if numbers else {}
    return found


class SchedulerWatch(Observer):
    """Follows every scheduler from where it is built; calls are counted on every step, asleep or not."""

    name = "schedulers"
    sees = "learning-rate schedulers"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.entries: dict[int, Entry] = {}
        self.parts: set[int] = set()

    def _count(self, index: int | None) -> int:
        optimizers = self.session.registry.optimizers
        return optimizers[index].steps if index is not None and index < len(optimizers) else self.session.optimizer_steps

    def _entry(self, scheduler: Any, place: Place | None) -> Entry | None:
        entry = self.entries.get(id(scheduler))
        if entry is not None and entry.ref() is scheduler:
            return entry
        if len(self.entries) >= MOST:
            return None
        optimizer = getattr(scheduler, "optimizer", None)
        index = self.session.registry.optimizer(optimizer).index if isinstance(optimizer, torch.optim.Optimizer) else None
        key = id(scheduler) if id(scheduler) not in self.entries else -len(self.entries)  # a number used again: keep what is known of the old one
        if key != id(scheduler):
            self.entries[key] = self.entries.pop(id(scheduler))
        entry = self.entries[id(scheduler)] = Entry(scheduler, place, index, self._count(index))
        for part in getattr(scheduler, "_schedulers", ()):
            self.scheduler_part(part)
        return entry

    def scheduler_built(self, scheduler: Any, place: Place | None) -> None:
        self._entry(scheduler, place)

    def scheduler_part(self, scheduler: Any) -> None:
        if (entry := self._entry(scheduler, None)) is not None:
            entry.part = True

    def scheduled(self, scheduler: Any, key: Any, metric: Any) -> None:
        entry = self._entry(scheduler, None)
        if entry is None:
            return
        if entry.steps == 0:
            entry.settings = entry.settings or settings_of(scheduler)
            if (frame := user_frame()) is not None:
                entry.variable = receiver(expression(frame))
        entry.stepped(key, self._count(entry.optimizer))
        if entry.mode and (isinstance(metric, (int, float)) or (isinstance(metric, torch.Tensor) and metric.is_cpu and metric.numel() == 1)):
            entry.measured(float(metric))

    def report(self) -> None:
        known = [entry.fact(self._count(entry.optimizer)) for entry in self.entries.values()]
        for fact in known:
            for place in facts.places_in(fact):
                self.session.keep_source(place)
        self.session.writer.fact("schedulers", known)
