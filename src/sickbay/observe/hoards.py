"""Memory that grows with every step: which list or dict of the script's takes one more tensor each time.

Looking through all containers of a process takes some tens of milliseconds, so it is done only when the process itself has grown a good deal, and a few
times at most. Nothing is kept of what was found but its id, its length and its name.
"""

from __future__ import annotations

import gc
import sys
from collections import deque
from dataclasses import dataclass
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sickbay import facts
from sickbay.observe.machine import resident_bytes
from sickbay.observe.observer import Observer
from sickbay.observe.places import USER, is_users, kind_of

if TYPE_CHECKING:
    from sickbay.observe.session import Session

GROWN = 48 * 2**20
"""Bytes that the process has to grow by before anybody looks; caches of a training's first steps take less."""
AGAIN = 2
"""...and how many times as much before the next look: a few looks, however long the run."""
MOST_LOOKS = 8
SETTLED = 4
"""The first steps fill optimizers' states and allocators' caches: growth is counted from here."""
FEWEST = 8
"""Entries of a container that is looked at."""
LARGE = 2**20
"""Bytes of a container that is worth a name."""
DEEPEST, MOST_PARTS, MOST_VISITED = 3, 256, 20_000
"""How far its name is looked for from the script's variables: an attribute of an object of the script's, or a dict there; and among how many."""


@dataclass(slots=True)
class Seen:
    """One container over the looks."""

    name: str
    first: tuple[int, int]
    last: tuple[int, int]
    """Step and length."""
    looks: int
    bytes_each: float
    epochs: tuple[int, int]


class HoardWatch(Observer):
    """Memory on every fourth sampled step; when it grows, what grows."""

    name = "hoards"
    sees = "what makes memory grow"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.base: int | None = None
        self.looks = 0
        self.seen: dict[int, Seen] = {}

    def step_closed(self, step: int) -> None:
        session = self.session
        if not session.at_update or not session.thorough or (size := resident_bytes()) is None:
            return
        session.pulse["memory/rss"] = size
        if step < SETTLED:
            return
        if self.base is None:
            self.base = size
        elif self.looks < MOST_LOOKS and size > self.base + GROWN * AGAIN**self.looks:
            started = session.clock()
            self._look(step)
            session.set_aside(session.clock() - started)

    def finish(self) -> None:
        """Once more. What is gone now may have been let go because the script is over."""
        if before := self.seen:
            self._look(self.session.step)
            self.seen = before | self.seen

    def _look(self, step: int) -> None:
        self.looks += 1
        found = {}
        for container in gc.get_objects():
            kind = type(container)  # isinstance would ask the object itself, and some of them answer with a warning
            if kind is list or kind is dict or (kind is deque and container.maxlen is None):
                size = len(container)
                if size >= FEWEST and (each := _bytes_each(container)):
                    found[id(container)] = (container, size, each)
        before, self.seen = self.seen, {}
        epoch = self.session.epoch
        for key, (container, size, each) in found.items():
            old = before.get(key)
            if old is None:
                self.seen[key] = Seen(_name_of(container) if size * each > LARGE else "", (step, size), (step, size), 1, each, (epoch, epoch))
            elif size > old.last[1] and step > old.last[0]:
                self.seen[key] = Seen(old.name or _name_of(container), old.first, (step, size), old.looks + 1, each, (old.epochs[0], epoch))

    def report(self) -> None:
        grown = [s for s in self.seen.values() if s.looks >= 2 and s.name]
        grown.sort(key=lambda s: -s.bytes_each * (s.last[1] - s.first[1]))
        known = [
            facts.Hoard(
                name=s.name,
                first_step=s.first[0],
                first=s.first[1],
                last_step=s.last[0],
                last=s.last[1],
                bytes_each=s.bytes_each,
                epochs=s.epochs[1] - s.epochs[0],
            )
            for s in grown[:4]
        ]
        self.session.writer.fact("hoards", known)


def _bytes_each(container: Any) -> float:
    """What an entry of it holds in tensors and arrays, from its first, middle and last; 0 if it holds none."""
    values = list(container.values()) if type(container) is dict else container
    picked = [values[0], values[len(values) // 2], values[-1]]
    sizes = [_bytes(v) for v in picked]
    return sum(sizes) / 3 if all(sizes) else 0.0


def _bytes(value: Any) -> int:
    if type(value) in (tuple, list):
        return sum(map(_own_bytes, value[:8]))
    if type(value) is dict:
        return sum(map(_own_bytes, list(value.values())[:8]))
    return _own_bytes(value)


def _own_bytes(value: Any) -> int:
    if type(value) is torch.Tensor:
        return value.numel() * value.element_size() if value.layout == torch.strided else 0
    return value.nbytes if type(value) is np.ndarray else 0


# -- what the script calls it ---------------------------------------------------------------------------------------


def _name_of(container: Any) -> str:
    """`history`, `self.cache`: what the script's frames, or failing that its modules and objects, call it. Empty for what isn't the script's own."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if kind_of(frame.f_code) == USER and (name := _within(frame, container)):
            return name
        frame = frame.f_back
    return _attribute(container)


def _within(frame: FrameType, wanted: Any) -> str:
    """A variable of the frame, an attribute of one, or one of those if it is a dict that holds the container (`monitor.outputs` with a list for every layer)."""
    ahead = [(str(name), value) for scope in (frame.f_locals, frame.f_globals) for name, value in list(scope.items())]
    for deeper in range(DEEPEST + 1):
        met, ahead = ahead, []
        for name, value in met:
            if value is wanted:
                return name
            if deeper < DEEPEST and len(ahead) < MOST_VISITED:
                ahead += _parts(name, value)
    return ""


def _parts(name: str, value: Any) -> list[tuple[str, Any]]:
    if type(value) is dict:
        return [(name, v) for v in list(value.values())[:MOST_PARTS] if type(v) in (list, dict, deque)]
    if not _is_the_scripts(type(value).__module__) or type(getattr(value, "__dict__", None)) is not dict:
        return []
    return [(f"{name}.{attribute}", held) for attribute, held in list(value.__dict__.items())[:MOST_PARTS]]


def _attribute(container: Any) -> str:
    """`Meter.inputs`, `history`: the attribute of an object, or the global, under which the script holds it."""
    for holder in gc.get_referrers(container):
        for owner in gc.get_referrers(holder) if type(holder) is dict else [holder]:
            module = owner.__name__ if type(owner) is ModuleType else type(owner).__module__
            if not _is_the_scripts(module):
                continue
            for name, value in list(getattr(owner, "__dict__", {}).items()):
                if value is container:
                    return name if type(owner) is ModuleType else f"{type(owner).__name__}.{name}"
    return ""


def _is_the_scripts(module: str) -> bool:
    file = getattr(sys.modules.get(module), "__file__", None)
    return module == "__main__" or (isinstance(file, str) and is_users(file))
