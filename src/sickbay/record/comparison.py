"""Two runs of the same script side by side: a recorded one and its replay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sickbay.facts import FirstInvalid
from sickbay.record.reader import Record

Outcome = Literal["recurred", "elsewhere", "absent", "unreached"]


@dataclass(frozen=True, slots=True)
class Happened:
    """What was not finite in a run, first: when and, as far as known, where."""

    kind: str
    step: int
    first: FirstInvalid | None = None


@dataclass(frozen=True, slots=True)
class Losses:
    """The losses of two runs, step by step."""

    compared: int = 0
    """Steps of which both have a loss."""
    last: int = -1
    """The newest of them."""
    differs_at: int | None = None
    before: float = 0.0
    now: float = 0.0


@dataclass(frozen=True, slots=True)
class Comparison:
    outcome: Outcome
    before: Happened
    now: Happened | None
    losses: Losses
    steps: int
    """How far the replay came."""
    ended: str
    """How, if it ended before the step."""
    changed: tuple[str, ...]
    """Source files that are not as they were."""
    sources: Mapping[str, str]
    """The texts of both runs, those of the replay where they differ."""
    seeded: bool
    """The script seems to set a seed."""


def compare_losses(before: Record, now: Record) -> Losses:
    """As recorded, which is in single precision; NaN is like NaN."""
    one, other = before.series("loss/train"), now.series("loss/train")
    steps, i, j = np.intersect1d(one.steps, other.steps, return_indices=True)
    if not len(steps):
        return Losses()
    a, b = one.values[i], other.values[j]
    differs = np.flatnonzero(~((a == b) | (np.isnan(a) & np.isnan(b))))
    if not len(differs):
        return Losses(len(steps), int(steps[-1]))
    at = differs[0]
    return Losses(len(steps), int(steps[-1]), int(steps[at]), float(a[at]), float(b[at]))
