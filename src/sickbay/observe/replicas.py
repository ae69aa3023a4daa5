"""DistributedDataParallel as the script uses it: what it wraps, whether training goes through it, whether gradients are exchanged."""

from __future__ import annotations

import weakref
from collections.abc import Iterator

import torch

from sickbay.nouns import Place
from sickbay.observe.observer import ForwardCall
from sickbay.observe.places import place_of
from sickbay.observe.registry import Registry

MOST_LEFT_OUT = 64


class Replicas:
    """All wrappers of this process."""

    def __init__(self) -> None:
        self.wrappers: list[weakref.ref[torch.nn.Module]] = []
        self.kind = ""
        self.place: Place | None = None
        self.group: tuple[int, ...] = ()
        self.inside: set[int] = set()
        """Modules that are wrapped, by id; they live as long as their wrapper."""
        self.held: set[int] = set()
        """...and their parameters."""
        self.alone: set[int] = set()
        """...but for those that the script has told it to leave to each rank."""
        self.through = self.past = 0
        self.past_at: Place | None = None
        self.synced = self.unsynced = 0
        self._exchanged: bool | None = None
        """Whether a backward pass of this step exchanged gradients; None before the first."""

    def add(self, wrapper: torch.nn.Module, place: Place | None) -> None:
        self.wrappers.append(weakref.ref(wrapper))
        self.kind = type(wrapper).__name__
        self.place = self.place or place
        self.inside |= {id(m) for m in wrapper.modules() if m is not wrapper}
        self.held |= {id(p) for p in wrapper.parameters()}
        alone = set(getattr(wrapper, "parameters_to_ignore", ()))
        self.alone |= {id(p) for n, p in wrapper.named_parameters() if n.removeprefix("module.") in alone}
        group = getattr(wrapper, "process_group", None)
        ranks = torch.distributed.get_process_group_ranks(group) if group is not None else ()
        self.group = self.group or tuple(ranks)

    def _live(self) -> Iterator[torch.nn.Module]:
        for ref in self.wrappers:
            if (wrapper := ref()) is not None:
                yield wrapper

    def called(self, call: ForwardCall) -> None:
        """A forward pass of training: through the wrapper, or past it?"""
        if any(wrapper is call.module for wrapper in self._live()):
            self.through += 1
        elif id(call.module) in self.inside and any(call.module is m for w in self._live() for m in w.modules()):
            self.past += 1
            if self.past_at is None and call.place_key is not None:
                self.past_at = place_of(*call.place_key)

    def backward(self) -> None:
        if self.wrappers:
            exchanges = any(getattr(w, "require_backward_grad_sync", True) for w in self._live())
            self._exchanged = bool(self._exchanged) or exchanges

    def stepped(self) -> None:
        if self._exchanged is not None:
            self.synced += self._exchanged
            self.unsynced += not self._exchanged
            self._exchanged = None

    def left_out(self, registry: Registry) -> list[str]:
        """What an optimizer steps and no wrapper holds."""
        if not self.wrappers:
            return []
        names = [e.name for t, e in registry.entries() if e.optimizer is not None and t.requires_grad and id(t) not in self.held]
        return names[:MOST_LEFT_OUT]

    def places(self) -> tuple[Place | None, ...]:
        return self.place, self.past_at
