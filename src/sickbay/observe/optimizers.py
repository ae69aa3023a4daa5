"""Optimizers: what they hold, when they step, and whether old gradients were still there when new ones were added."""

from __future__ import annotations

import math
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch

from sickbay import facts
from sickbay.nouns import Place
from sickbay.observe.numbers import gradient_norms, total_norm
from sickbay.observe.observer import Observer, Site
from sickbay.observe.places import expression, place_of, user_frame
from sickbay.observe.registry import OptimizerEntry
from sickbay.observe.syntax import receiver

if TYPE_CHECKING:
    from sickbay.observe.session import Session

CLOSE_LOOKS = 16
"""For this many intervals a gradient that nobody was seen to clear is measured every time; then on sampled steps."""
MOST_SHARED = 2000
HELD = 3
"""Of an old gradient, the smallest tensors that are held until the next step."""


class OptimizerWatch(Observer):
    """Facts about optimizers, the learning rate of each step, stale gradients."""

    name = "optimizer"
    sees = "optimizers: learning rates, call order and uncleared gradients"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.sites: list[Site] = []
        self.living: list[OptimizerEntry] = []
        """Those that still exist: a script may make a new one for every batch."""
        self.overlaps: dict[tuple[int, int], tuple[str, ...]] = {}

    def optimizer_built(self, optimizer: torch.optim.Optimizer, place: Place | None, frame: FrameType | None) -> None:
        entry = self.session.registry.add_optimizer(optimizer, place, frame)
        self.session.registry.claim(entry, optimizer)
        self._lives(entry)

    def _lives(self, entry: OptimizerEntry) -> None:
        if entry not in self.living:
            self.living = [e for e in self.living if e.ref() is not None] + [entry]

    def zeroed(self, owner: Any, key: Any) -> None:
        own = isinstance(owner, torch.optim.Optimizer)
        entries = [self.session.registry.optimizer(owner)] if own else [e for e in self.living if self._clears(e, owner, key)]
        for entry in entries:
            entry.cleared = True
            entry.cleared_late = entry.fresh
            if entry.steps:
                entry.zero_calls += 1
            if entry.zeroed_at is None and key is not None:
                entry.zeroed_at = place_of(*key)

    def _clears(self, entry: OptimizerEntry, module: torch.nn.Module, key: Any) -> bool:
        """Whether module.zero_grad() clears all that an optimizer holds; what it leaves out stays under watch."""
        optimizer = entry.ref()
        if optimizer is None:
            return False
        cleared = {id(p) for p in module.parameters()}
        held = [p for group in optimizer.param_groups for p in group["params"]]
        left_out = [p for p in held if id(p) not in cleared]
        if len(left_out) == len(held):
            return False
        if not left_out or all(p.grad is None for p in left_out):
            return True
        names = (registry_entry.name for p in left_out if (registry_entry := self.session.registry.entry(p)) is not None)
        entry.left_out = tuple(names)[:32]
        if entry.zeroed_at is None and key is not None:
            entry.zeroed_at = place_of(*key)
        return False

    def backward_begins(self, _: torch.Tensor, site: Site) -> None:
        self.sites.append(site)
        for entry in self.living:
            entry.backwards += 1
            entry.fresh, entry.cleared_late = True, False
            if entry.steps and not entry.cleared and (entry.intervals < CLOSE_LOOKS or self.session.sampled):
                self._look(entry)

    def gradients_given(self, *_: Any) -> None:
        """By torch.autograd.grad, which adds to nothing: what stands in `.grad` is written over."""
        for entry in self.living:
            entry.cleared = True

    def _look(self, entry: OptimizerEntry) -> None:
        """Nobody called zero_grad since the last step: is the old gradient still there?"""
        optimizer = entry.ref()
        if optimizer is None:
            return
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        strided = [g for g in gradients if g.layout == torch.strided]
        if not gradients:
            entry.cleared = True
            return
        norm = total_norm(gradient_norms(strided)) if strided else math.inf
        if norm == 0.0:
            entry.cleared = True
            return
        held = (p for group in optimizer.param_groups for p in group["params"] if p.grad is not None)
        entry.old = [(p, p.grad) for p in sorted(held, key=torch.Tensor.numel)[:HELD]]

    def step_begins(self, optimizer: torch.optim.Optimizer, key: Any, closure: bool) -> None:
        entry = self.session.registry.optimizer(optimizer)
        if entry.steps == 0:
            self._first_step(entry, optimizer, key)
        entry.closure = closure
        if closure:
            return  # gradients are still to come: see step_ends
        looked = entry.intervals < CLOSE_LOOKS or self.session.sampled
        assigned = _assigned(entry)
        if entry.steps and entry.backwards and looked:
            entry.intervals += 1
            if not entry.cleared and not assigned:
                self._stale(entry, optimizer)
        entry.observed_steps += 1
        if len(self.living) > 1:
            self._shares(entry, optimizer)
        # Without backward every gradient is missing: only if the first is, ask the rest.
        first = optimizer.param_groups[0]["params"]
        if entry.cleared_late:
            entry.empty_steps += 1
        elif not first or first[0].grad is None:
            entry.empty_steps += all(p.grad is None for group in optimizer.param_groups for p in group["params"])

    def _shares(self, entry: OptimizerEntry, optimizer: torch.optim.Optimizer) -> None:
        """Has another optimizer just moved some of these tensors by the very same gradients?"""
        entry.stepped_after = self.session.backwards
        for other in self.living:
            if other is entry or other.stepped_after != entry.stepped_after or other.cleared:
                continue
            if (entry.index, other.index) not in self.overlaps:
                self.overlaps[entry.index, other.index] = self._overlap(optimizer, other)
            if names := self.overlaps[entry.index, other.index]:
                entry.twice += 1
                entry.shares_with, entry.shared = other.index, names

    def _overlap(self, optimizer: torch.optim.Optimizer, other: OptimizerEntry) -> tuple[str, ...]:
        theirs = other.ref()
        held = {id(p) for group in theirs.param_groups for p in group["params"]} if theirs is not None else set()
        both = [p for group in optimizer.param_groups for p in group["params"] if id(p) in held]
        return tuple(e.name for p in both if (e := self.session.registry.entry(p)) is not None)[:MOST_SHARED]

    def _stale(self, entry: OptimizerEntry, optimizer: torch.optim.Optimizer) -> None:
        entry.stale += 1
        entry.stale_first = self.session.step if entry.stale_first is None else entry.stale_first
        entry.stale_last = self.session.step
        gradients = [p.grad for g in optimizer.param_groups for p in g["params"] if p.grad is not None and p.grad.layout == torch.strided]
        if gradients and entry.stale <= CLOSE_LOOKS:
            norm = total_norm(gradient_norms(gradients))
            entry.stale_norm = max(entry.stale_norm, norm) if math.isfinite(norm) else entry.stale_norm

    def _first_step(self, entry: OptimizerEntry, optimizer: torch.optim.Optimizer, key: Any) -> None:
        self._lives(entry)
        self.session.registry.claim(entry, optimizer)
        if key is not None:
            entry.stepped_at = place_of(*key)
        if (frame := user_frame()) is not None:
            entry.variable = receiver(expression(frame))

    def stepped(self, optimizer: torch.optim.Optimizer) -> None:
        entry = self.session.registry.optimizer(optimizer)
        entry.steps += 1
        rate = optimizer.param_groups[0].get("lr")
        if rate is not None:
            name = f"lr@{entry.index}" if entry.index else "lr"
            self.session.pulse[name] = float(rate) if not isinstance(rate, torch.Tensor) or rate.is_cpu else math.nan

    def step_ends(self, optimizer: torch.optim.Optimizer) -> None:
        entry = self.session.registry.optimizer(optimizer)
        if not entry.closure:
            entry.cleared = False
        else:
            entry.observed_steps += 1
            entry.empty_steps += not entry.fresh and all(p.grad is None for group in optimizer.param_groups for p in group["params"])
        entry.fresh = entry.cleared_late = False
        for site in self.sites:
            site.optimizers.add(entry.index)
        self.sites.clear()
        if self.session.at_calls:
            self.session.registry.claim(entry, optimizer)
            entry.groups = [_group(g) for g in optimizer.param_groups[:16]]

    def woke(self) -> None:
        """Nobody watched the last steps: say nothing of gradients until each optimizer has stepped again."""
        self.sites.clear()
        for entry in self.living:
            entry.cleared = True
            entry.fresh = entry.cleared_late = False

    def report(self) -> None:
        entries = self.session.registry.optimizers
        for e in entries:
            for place in (e.built_at, e.stepped_at, e.zeroed_at):
                self.session.keep_source(place)
        self.session.writer.fact("optimizers", [_fact(e) for e in entries[:32]])


def _group(group: dict[str, Any]) -> dict[str, Any]:
    momentum = group.get("momentum", group.get("betas", (None,))[0] if group.get("betas") else None)
    return {
        "parameters": len(group["params"]),
        "lr": _number(group.get("lr")),
        "weight_decay": _number(group.get("weight_decay")),
        "momentum": _number(momentum),
    }


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _fact(entry: OptimizerEntry) -> facts.Optimizer:
    optimizer = entry.ref()
    groups = entry.groups or ([_group(g) for g in optimizer.param_groups[:16]] if optimizer is not None else [])
    return facts.Optimizer(
        index=entry.index,
        kind=entry.kind,
        variable=entry.variable,
        built_at=entry.built_at,
        stepped_at=entry.stepped_at,
        zeroed_at=entry.zeroed_at,
        steps=entry.steps,
        groups=tuple(facts.OptimizerGroup(**g) for g in groups),
        parameters=entry.names[:2000],
        zero_calls=entry.zero_calls,
        intervals=entry.intervals,
        stale_intervals=entry.stale,
        stale_norm=entry.stale_norm or None,
        stale_parameters=entry.left_out if entry.stale else (),
        stale_first=entry.stale_first,
        stale_last=entry.stale_last,
        observed_steps=entry.observed_steps,
        empty_steps=entry.empty_steps,
        emptied_by_hand=entry.emptied_by_hand,
        backwards_per_step=entry.backwards / entry.steps if entry.steps else None,
        closure=entry.closure,
        twice=entry.twice,
        shares_with=entry.shares_with,
        shared=entry.shared,
        thawed=entry.thawed,
        thawed_looks=entry.thawed_looks,
    )


def _assigned(entry: OptimizerEntry) -> bool:
    """Whether other tensors stand in the place of the old gradients: the script wrote them there (master weights, per-sample gradients), and
    nothing was added up. Autograd adds in place, or makes a sum that has a graph itself."""
    old, entry.old = entry.old, []
    return bool(old) and all(p.grad is not before and p.grad is not None and not p.grad.requires_grad for p, before in old)
