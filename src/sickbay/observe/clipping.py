"""Gradient clipping: where it stands between backward and step, what it is given, and how much it cuts off."""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING, Any

import torch

from sickbay import facts
from sickbay.observe.numbers import gradient_norms, total_norm
from sickbay.observe.observer import Observer, Site
from sickbay.observe.places import place_of
from sickbay.observe.registry import spread

if TYPE_CHECKING:
    from sickbay.observe.session import Session

MOST_PLACES = 8
MOST_TENSORS = 64
BLOCK = 256
LOOKS_BY_HAND = 16
SAME = 1e-3
"""Norms at the step that agree to a thousandth on every look: no gradient does that by itself."""
MOST_SHARES = 256


class Entry:
    """One line that clips."""

    def __init__(self, index: int, kind: str, key: Any) -> None:
        self.index = index
        self.kind = kind
        self.place = place_of(*key) if key else None
        self.limit: float | None = None
        self.calls = self.in_time = self.too_early = self.too_late = 0
        self.looks = self.empty = self.foreign = self.shared = 0
        self.tensors: int | None = None
        self.held: set[int] = set()
        """Identities of the tensors of this step's call; only compared within the step."""
        self.shares: list[float] = []

    @property
    def series(self) -> str:
        return f"clip_norm@{self.index}" if self.index else "clip_norm"

    def fact(self) -> facts.Clipping:
        return facts.Clipping(
            index=self.index,
            kind=self.kind,
            place=self.place,
            limit=self.limit,
            calls=self.calls,
            in_time=self.in_time,
            too_early=self.too_early,
            too_late=self.too_late,
            empty=self.empty,
            looks=self.looks,
            tensors=self.tensors,
            foreign=self.foreign,
            shared=self.shared,
            clipped_share=median(self.shares) if self.shares else None,
        )


class ClippingWatch(Observer):
    """The order of clipping, backward and step; what is clipped on sampled steps; the norm on every step."""

    name = "clipping"
    sees = "gradient clipping"
    takes = ("update",)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.entries: dict[Any, Entry] = {}
        self.waiting: list[Entry] = []
        """Clips since the newest backward of this step."""
        self.overtaken: list[Entry] = []
        """Clips that another backward came after."""
        self.between: list[tuple[Entry, bool]] = []
        """Clips since the last step without any backward, and whether gradients had been cleared before them."""
        self.cleared = False
        self.after_backward: dict[int, float] = {}
        self.by_hand: dict[int, list[tuple[float, float]]] = {}
        """For each optimizer: the norm of its gradients after backward and when its step began, without any clipping that we know."""

    def _entry(self, kind: str, limit: Any, key: Any) -> Entry | None:
        entry = self.entries.get(key)
        if entry is None and len(self.entries) < MOST_PLACES:
            entry = self.entries[key] = Entry(len(self.entries), "value" if "value" in kind else "norm", key)
        if entry is not None and (isinstance(limit, (int, float)) or (isinstance(limit, torch.Tensor) and limit.is_cpu and limit.numel() == 1)):
            entry.limit = float(limit)
        return entry

    def clip_begins(self, kind: str, limit: Any, tensors: list[Any], key: Any) -> None:
        entry = self._entry(kind, limit, key)
        if entry is None:
            return
        started = self.session.clock()
        entry.looks += 1
        entry.tensors = len(tensors)
        entry.held = {id(t) for t in tensors}
        if entry.kind == "value":
            self._look_at_values(entry, tensors)
        self.session.sample_seconds += self.session.clock() - started

    def _look_at_values(self, entry: Entry, tensors: list[Any]) -> None:
        gradients = [t.grad for t in tensors if isinstance(t, torch.Tensor) and t.grad is not None and t.grad.layout == torch.strided]
        values = torch.cat([spread(g, BLOCK).reshape(-1).float().abs() for g in gradients[:MOST_TENSORS]]) if gradients else torch.empty(0)
        nonzero = values[values > 0]
        if not nonzero.numel():
            entry.empty += 1
        elif entry.limit is not None and len(entry.shares) < MOST_SHARES:
            entry.shares.append(float((nonzero > entry.limit).float().mean()))

    def clipped(self, kind: str, limit: Any, norm: Any, key: Any) -> None:
        entry = self._entry(kind, limit, key)
        if entry is None:
            return
        entry.calls += 1
        if isinstance(norm, torch.Tensor) and norm.numel() == 1:
            if norm.is_cpu:
                value = self.session.pulse[entry.series] = norm.item()
                self.session.clip_broken = not math.isfinite(value)
                entry.empty += self.session.sampled and value == 0.0
            else:
                self.session.later(entry.series, norm)
        if not self.awake:
            return
        if self.session.since_step:
            self.waiting.append(entry)
        else:
            self.between.append((entry, self.cleared))

    def zeroed(self, *_: Any) -> None:
        self.cleared = True

    def backward_begins(self, _: torch.Tensor, site: Site) -> None:
        self.overtaken += self.waiting
        self.waiting = []

    def backward_ends(self, _: torch.Tensor) -> None:
        if not self.session.at_update or self.entries:
            return  # whoever clips with torch's own function does not clip by hand as well
        started = self.session.clock()
        for entry in self.session.registry.optimizers[:MOST_PLACES]:
            if len(self.by_hand.get(entry.index, ())) < LOOKS_BY_HAND and (optimizer := entry.ref()) is not None:
                gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
                self.after_backward[entry.index] = total_norm(gradient_norms(gradients))
        self.session.sample_seconds += self.session.clock() - started

    def _compare(self, index: int) -> None:
        """What the script did to the gradients between backward and step; the layers' observer has just measured their norm again."""
        now = self.session.pulse.get(f"grad_norm@{index}" if index else "grad_norm")
        before = self.after_backward.get(index, 0.0)
        if now and before and math.isfinite(now) and math.isfinite(before):
            self.by_hand.setdefault(index, []).append((before, now))

    def step_begins(self, optimizer: torch.optim.Optimizer, key: Any, closure: bool) -> None:
        if closure:
            self._forget()
            return
        # Two optimizers step on one backward: what stands between their steps is in time for the second.
        in_time = self.waiting if self.session.since_step else [entry for entry, _ in self.between]
        for entry in {id(e): e for e in in_time}.values():
            entry.in_time += 1
            if self.session.sampled and entry.held:
                mine = {id(p) for group in optimizer.param_groups for p in group["params"]}
                entry.shared += bool(mine & entry.held)
                entry.foreign += not mine & entry.held
        done = {id(e) for e in in_time}
        for entry in {id(e): e for e in self.overtaken if id(e) not in done}.values():
            entry.too_early += 1
        if self.session.sampled and not in_time:
            self._compare(self.session.registry.optimizer(optimizer).index)
        if self.session.since_step:
            for entry, cleared in {id(e): (e, c) for e, c in self.between if id(e) not in done}.values():
                entry.too_early += cleared
                entry.too_late += not cleared
        self._forget()

    def _forget(self) -> None:
        self.waiting, self.overtaken, self.between = [], [], []
        self.cleared = False
        self.after_backward = {}

    def woke(self) -> None:
        self._forget()

    def report(self) -> None:
        for entry in self.entries.values():
            self.session.keep_source(entry.place)
        known = [entry.fact() for entry in self.entries.values()]
        known += [fact for pairs in self.by_hand.values() if (fact := _by_hand(len(known), pairs)) is not None]
        self.session.writer.fact("clippings", [f for f in known if f.limit is None or math.isfinite(f.limit)])


def _by_hand(index: int, pairs: list[tuple[float, float]]) -> facts.Clipping | None:
    """Gradients that had one and the same norm at every step, and another after backward: the script brings them to that norm itself."""
    norms = [now for _, now in pairs]
    if len(pairs) < 5 or max(norms) - min(norms) > SAME * max(norms) or not all(abs(before / now - 1) > SAME for before, now in pairs):
        return None
    return facts.Clipping(
        index=index, kind="hand", limit=median(norms), calls=len(pairs), in_time=len(pairs), looks=len(pairs), cut=median(b / n for b, n in pairs)
    )
