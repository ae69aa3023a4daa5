"""Memory that grows with every step: which list, dict, cache or tensor of the script's takes more each time.

Looking through all containers of a process takes some tens of milliseconds, so it is done only when the process itself has grown a good deal, and a few
times at most. Nothing is kept of what was found but its id, its length and its name; what its entries hold is asked only of those that have grown.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sickbay import facts
from sickbay.observe.held import bytes_each
from sickbay.observe.holders import Holder, holder_of, variables
from sickbay.observe.machine import device_bytes, resident_bytes
from sickbay.observe.observer import Observer

if TYPE_CHECKING:
    from sickbay.observe.session import Session

GROWN = 32 * 2**20
"""Bytes that the process has to grow by before anybody looks; caches of a training's first steps take less."""
AGAIN = 2
"""...and how many times as much, or as many steps, before the next look: a few looks, however long the run."""
MOST_LOOKS = 12
SETTLED = 4
"""The first steps fill optimizers' states and allocators' caches: growth is counted from here."""
OFTEN = 0.05
"""Seconds between two questions for the size of the process: each takes some hundredths of a millisecond of a step, and what leaks takes longer to be worth a word."""
FEWEST, FEWEST_NUMBERS = 8, 4096
"""Entries of a container that is looked at; plain numbers and texts weigh next to nothing."""
LARGE = 2**20
"""Bytes of a container that is worth a name."""
MOST_NAMED = 2
"""Containers that a name is looked for at one look: the largest. To find one takes a tenth of a second where no variable leads to it."""
COUNTED = (2, 4, 8)
"""Looks at which hooks and caches are counted anew."""
EMPTY = (type, ModuleType, FunctionType, BuiltinFunctionType, bool, type(None), property, classmethod, staticmethod)
"""What the tables of Python itself hold: no memory of the script's. (Hooks are functions: they stand in ordered dicts.)"""
NUMBERS = (int, float, str)


@dataclass(slots=True)
class Seen:
    """One container over the looks."""

    first: tuple[int, int]
    last: tuple[int, int]
    """Step and length."""
    epochs: tuple[int, int]
    looks: int = 1
    bytes_each: float = 0.0
    holder: Holder = field(default_factory=Holder)
    alike: int = 0
    """Others that have grown step by step with it; their entries count in `bytes_each`."""

    @property
    def size(self) -> float:
        return self.bytes_each * self.last[1]


class HoardWatch(Observer):
    """Memory on sampled steps; when it grows, what grows."""

    name = "hoards"
    sees = "what makes memory grow"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.base: int | None = None
        self.asked_at = 0.0
        self.looks = 0
        self.looked_at = 0
        self.seen: dict[Any, Seen] = {}

    def step_closed(self, step: int) -> None:
        session = self.session
        if not session.at_calls or (step >= SETTLED and session.clock() < self.asked_at + OFTEN):
            return
        self.asked_at = session.clock()
        if (size := resident_bytes()) is None:
            return
        session.pulse["memory/rss"] = size
        if step < SETTLED:
            return
        size += device_bytes()
        if self.base is None:
            self.base = size
        elif self.looks < MOST_LOOKS and self._due(step, size - self.base):
            started = session.clock()
            self._look(step)
            session.set_aside(session.clock() - started)

    def _due(self, step: int, grown: int) -> bool:
        """It has grown further; or so many steps were taken that what grows with them must have."""
        return grown > GROWN * AGAIN**self.looks or (self.looks > 0 and step > AGAIN * self.looked_at)

    def finish(self) -> None:
        """Once more. What is gone now may have been let go because the script is over; what is there and has not grown since is no leak."""
        before = self.seen
        if before and self.session.step > self.looked_at:
            self._look(self.session.step, frames=False)
            there = {id(c) for c, _ in _containers()}
            self.seen = {key: s for key, s in before.items() if key not in there} | self.seen

    def _look(self, step: int, frames: bool = True) -> None:
        self.looks += 1
        self.looked_at = step
        before, self.seen = self.seen, {}
        grown = {}
        for container, size in _containers():
            if self._follow(before, id(container), step, size):
                grown[id(container)] = container
        for key, container in grown.items():
            self.seen[key].bytes_each = bytes_each(container)
        worth = sorted((key for key in grown if self.seen[key].size > LARGE), key=lambda key: -self.seen[key].size)
        for key in worth[:MOST_NAMED]:
            seen = self.seen[key]
            if not seen.holder.name or (seen.holder.kind != "container" and seen.looks in COUNTED):
                seen.holder = holder_of(grown[key], {id(grown)})
            if seen.holder.name:
                self._with_those_alike(key, grown)
                break  # others may be of the same kind; one is enough to tell of
        del grown
        for name, tensor in _tensors() if frames else ():
            variable, rows = (name, tensor.dtype), len(tensor)
            if self._follow(before, variable, step, rows):
                self.seen[variable].bytes_each = _bytes(tensor) / rows
                self.seen[variable].holder = Holder(name, "rows")

    def _with_those_alike(self, key: Any, grown: dict[Any, Any]) -> None:
        """A list for each layer, outputs beside targets: what was as long as it at every look is filled by the same loop, and only together they account for what that takes."""
        one, counted = self.seen[key], set[int]()
        one.bytes_each = bytes_each(grown[key], counted)
        for other, container in grown.items():
            seen = self.seen[other]
            if seen is not one and type(container) is type(grown[key]) and (seen.first, seen.last) == (one.first, one.last):
                more = bytes_each(container, counted)
                one.bytes_each += more
                one.alike += more > 0

    def _follow(self, before: dict[Any, Seen], key: Any, step: int, size: int) -> bool:
        """Whether it was there at the look before and has grown since."""
        old, epoch = before.get(key), self.session.epoch
        if old is None:
            self.seen[key] = Seen((step, size), (step, size), (epoch, epoch))
        elif size > old.last[1] and step > old.last[0]:
            self.seen[key] = Seen(old.first, (step, size), (old.epochs[0], epoch), old.looks + 1, old.bytes_each, old.holder)
            return True
        return False

    def report(self) -> None:
        grown = [s for s in self.seen.values() if s.looks >= 2 and s.holder.name]
        grown.sort(key=lambda s: -s.bytes_each * (s.last[1] - s.first[1]))
        known = [_fact(s) for s in grown[:4]]
        for hoard in known:
            self.session.keep_source(hoard.place)
        self.session.writer.fact("hoards", known)


def _fact(s: Seen) -> facts.Hoard:
    return facts.Hoard(
        name=s.holder.name,
        first_step=s.first[0],
        first=s.first[1],
        last_step=s.last[0],
        last=s.last[1],
        bytes_each=s.bytes_each,
        epochs=s.epochs[1] - s.epochs[0],
        kind=s.holder.kind,
        place=s.holder.place,
        count=s.holder.count,
        hits=s.holder.hits,
        alike=s.alike,
    )


def _containers() -> Iterator[tuple[Any, int]]:
    """Lists, dicts, deques and sets that may hold something, with their lengths."""
    objects = gc.get_objects()
    # Types are asked, not objects: isinstance would ask the object itself, and some of them answer with a warning.
    kinds = set(map(type, objects))
    bases = {kind: base for kind in kinds for base in (list, dict, deque) if issubclass(kind, base)}
    for container in [o for o in objects if type(o) in bases]:
        base: Any = bases[type(container)]
        # ...and so with lengths: a class of the script's may have a `__len__` of its own.
        if (size := base.__len__(container)) >= FEWEST and not _is_plain(container, base, size):
            yield container, size


def _is_plain(container: Any, base: type, size: int) -> bool:
    """It cannot take memory without end, or what it holds is none."""
    if base is deque:
        return container.maxlen is not None
    newest = next(reversed(dict.values(container))) if base is dict else list.__getitem__(container, -1)
    of = type(newest)
    return (of in EMPTY and type(container) is dict) or (of in NUMBERS and size < FEWEST_NUMBERS)


def _tensors() -> Iterator[tuple[str, Any]]:
    """Variables that hold a large tensor or array: `features = torch.cat([features, new])` grows without any list."""
    met = set()
    for name, value in variables():
        if name not in met and type(value) in (torch.Tensor, np.ndarray) and value.ndim and len(value) and _bytes(value) > LARGE:
            met.add(name)
            yield name, value


def _bytes(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return value.nbytes
    return int(value.numel() * value.element_size()) if value.layout == torch.strided else 0
