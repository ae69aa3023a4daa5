"""Whether the random numbers of training come again: a generator that is seeded anew on the way draws the same batches anew, and one that nobody seeds never draws the same."""

from __future__ import annotations

import random
import sys
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sickbay import facts
from sickbay.nouns import Place
from sickbay.observe.begun import begun, digest
from sickbay.observe.observer import ForwardCall, Observer
from sickbay.observe.places import is_users

if TYPE_CHECKING:
    from sickbay.observe.session import Session

FIRST_STEPS = 256
PYTHON_STEPS = 32
"""Python's generator gives its state as a tuple of 625 numbers, which takes thirty microseconds; whether it moves shows at once."""
MOST_STARTS = 12
MOST_FILES, LONGEST_FILE = 12, 200_000


class RandomWatch(Observer):
    """Looks at the state of torch's, NumPy's and Python's own generators before the forward passes of the first steps, and draws nothing."""

    name = "randomness"
    sees = "whether random numbers come again"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.first = states()
        self.states: dict[str, set[int]] = {name: set() for name in self.first}
        self.last: dict[str, int] = {}
        self.looked_at = -1
        self.seen = 0
        self.looks = dict.fromkeys(self.states, 0)
        self.before = dict.fromkeys(self.states, False)
        self.moved = dict.fromkeys(self.states, 0)
        self.again = dict.fromkeys(self.states, 0)
        self.starts: dict[Any, list[facts.Start]] = {}
        self.sources_kept = False

    def optimizer_built(self, optimizer: torch.optim.Optimizer, place: Place | None, frame: FrameType | None) -> None:
        starts = self.starts.setdefault((place.file, place.line) if place is not None else None, [])
        if place is not None and len(starts) < MOST_STARTS:
            starts.append(begun(self.session.step, place, optimizer, frame, {name: digest(state) for name, state in states().items()}))

    def forward_begins(self, call: ForwardCall) -> None:
        step = self.session.step
        if not call.grad or step >= FIRST_STEPS or step == self.looked_at:
            return
        self.looked_at = step
        self.seen += 1
        for name, mark in states(with_python=step < PYTHON_STEPS).items():
            self.looks[name] += 1
            if not self.states[name]:
                self.before[name] = mark != self.first[name]
            if self.last.get(name) not in (None, mark):  # something was drawn since the step before
                self.moved[name] += 1
                self.again[name] += mark in self.states[name]
            self.states[name].add(mark)
            self.last[name] = mark

    def report(self) -> None:
        if not self.sources_kept and self.seen:
            self.sources_kept = True
            self._keep_sources()
        generators = [facts.Generator(name=n, before=self.before[n], looks=self.looks[n], moved=self.moved[n]) for n in self.states]
        starts = [start for line in self.starts.values() if len(line) > 1 for start in line]
        for start in starts:
            self.session.keep_source(start.place)
        self.session.writer.fact(
            "randomness",
            facts.Randomness(
                seen=self.seen,
                again=max(self.again["torch"], self.again["numpy"]),
                generators=tuple(generators),
                starts=tuple(starts),
                text_hash_varies=bool(sys.flags.hash_randomization),
            ),
        )

    def _keep_sources(self) -> None:
        """Files of the script's own that seed: what they cover is read from their text."""
        kept = 0
        for module in list(sys.modules.values()):
            # As it stands in the module's own dict: modules that load themselves when they are asked for something are not asked.
            file = object.__getattribute__(module, "__dict__").get("__file__") if isinstance(module, ModuleType) else None
            if isinstance(file, str) and file.endswith(".py") and is_users(file) and kept < MOST_FILES and _seeds(file):
                self.session.keep_source(Place(file, 1))
                kept += 1


def _seeds(file: str) -> bool:
    try:
        with open(file, encoding="utf-8", errors="replace") as f:
            return "seed" in f.read(LONGEST_FILE)
    except OSError:
        return False


def states(with_python: bool = True) -> dict[str, int]:
    """The script's own generators, which are only looked at."""
    numpy: Any = np.random.get_state()
    seen = {
        "torch": hash(torch.get_rng_state().numpy().tobytes()),
        "numpy": hash(np.asarray(numpy[1]).tobytes() + str(numpy[2]).encode()),
    }
    return seen | {"python": hash(random.getstate())} if with_python else seen
