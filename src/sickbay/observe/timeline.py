"""The training step drawn as a timeline: which calls, in which order, on which of the user's lines."""

from __future__ import annotations

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

    def scaled(self, *_: Any) -> None:
        self._call("scale")

    def called(self, kind: str, key: Any, _: Any) -> None:
        self._call(kind, key)

    def scheduled(self, _: Any, key: Any, metric: Any) -> None:
        self._call("scheduler", key)

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
        patterns = [facts.CallPattern(calls=c, count=n, first=first, last=last) for c, (n, first, last) in self.patterns.items()]
        patterns.sort(key=lambda p: -p.count)
        self.session.writer.fact("timeline", facts.Timeline(patterns=tuple(patterns), places=dict(self.places), counts=dict(self.counts)))
