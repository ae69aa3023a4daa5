"""The nouns. Read this first: every stage of sickbay turns one of these into the next.

    observe -> Record -> Sign -> Suspicion (-> Trial) -> Diagnosis -> report

A later stage makes a new noun and never edits an older one, so everything here is frozen. There is no logic in
this file; what is known about the parts of a run (its model, optimizers, loaders...) is in `facts.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Level = Literal["data", "architecture", "procedure", "hyperparameters", "system", "evaluation"]
EvidenceKind = Literal["proof", "strong", "hint", "against"]
Certainty = Literal["proven", "likely", "possible"]
Verdict = Literal["healthy", "sick", "undecided", "untrained"]
Safety = Literal["advice", "consent", "safe"]
Effect = Literal["CURED", "HELPED", "NO EFFECT", "HARMED", "INCONCLUSIVE"]
"""What a trial showed."""

LEVELS: tuple[Level, ...] = ("data", "architecture", "procedure", "hyperparameters", "system", "evaluation")
"""Cheapest and most fundamental first: the order in which an expert looks, and in which equal evidence is ranked."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is: a line of the user's source, a layer of the user's model, or both."""

    file: str | None = None
    line: int | None = None
    layer: str | None = None
    text: str | None = None
    """The source line itself, stripped, as it was when the script ran."""
    guess: bool = False
    """Chosen by reading the script's text (`script/lineage.py`): a likely line, not one that was seen to be at fault."""


@dataclass(frozen=True, slots=True)
class Series:
    """One number over training steps. `steps` is strictly increasing; `values` may hold NaN and infinities."""

    name: str
    steps: NDArray[np.int64]
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.steps)


@dataclass(frozen=True, slots=True)
class Family:
    """The same number for many layers: `values[i, j]` belongs to `steps[i]` and `names[j]`; NaN where not measured."""

    name: str
    names: tuple[str, ...]
    steps: NDArray[np.int64]
    values: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened once (or was counted): a mode switch, a non-finite value, an observer that failed."""

    step: int
    time: float
    kind: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sign:
    """Something measurably wrong, before anyone says why."""

    name: str
    where: str | None
    steps: tuple[int, int]
    strength: float
    """0 to 1: how far beyond what a healthy run shows."""
    numbers: Mapping[str, float]
    text: str
    """One sentence with the numbers, for the report."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One line in a suspicion's ledger. `proof` is structural and needs no threshold."""

    kind: EvidenceKind
    text: str
    place: Place | None = None
    steps: tuple[int, int] | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fix:
    """What to do. `diff` is a unified diff or a snippet in the user's own names; `text` says it in words."""

    text: str
    diff: str = ""
    safety: Safety = "advice"


@dataclass(frozen=True, slots=True)
class Trial:
    """The script run again with one thing changed, beside the run as it was."""

    cause: str
    """Whose cure was tried."""
    treatment: str
    """As `--treat` writes it."""
    label: str
    """...and in words: "learning rate ×0.1"."""
    effect: Effect
    text: str
    """One sentence with the numbers."""
    size: float = 0.0
    """How much lower the treated loss is, as a difference of logarithms; negative if higher."""
    noise: float = 0.0
    """...and what differences of that kind the runs' own noise gives."""
    steps: int = 0
    seconds: float = 0.0
    untreated: tuple[tuple[int, float], ...] = ()
    treated: tuple[tuple[int, float], ...] = ()
    """Both losses, thinned, as (step, value)."""
    fenced: tuple[str, ...] = ()
    """Files that the trial was kept from writing."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A cause with its ledger of evidence for and against, a place and a confidence."""

    cause: str
    code: str
    level: Level
    title: str
    why: str
    """Why it hurts: one or two sentences."""
    certainty: Certainty
    confidence: float
    place: Place | None
    evidence: tuple[Evidence, ...]
    fix: Fix
    explains: frozenset[str] = frozenset()
    """Signs and causes that this one brings with it."""
    consequences: tuple[str, ...] = ()
    """Signs and causes folded beneath this one in the diagnosis."""
    trial: Trial | None = None
    """What came of trying its cure."""


@dataclass(frozen=True, slots=True)
class NotChecked:
    """Something sickbay did not or could not look at. Silence must not read as approval."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class RunSummary:
    """The run in numbers, for the foot of a report."""

    name: str
    folder: str | None
    script: str
    steps: int
    epochs: int
    seconds: float
    overhead: float | None
    """Our own measured share of training time: 0.013 means 1.3 %. None when nothing was timed."""
    exit: int | str | None
    """The script's exit code, the name of the signal that ended it, or None while it runs."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The conclusion: root causes only, best first, with everything a report needs to draw."""

    verdict: Verdict
    reason: str
    """One sentence: why this verdict; for `undecided`, what would decide it."""
    causes: tuple[Suspicion, ...]
    signs: tuple[Sign, ...]
    not_checked: tuple[NotChecked, ...]
    run: RunSummary
    shapes: tuple[str, ...] = ()
    """Of a log that another tool wrote: the shape of its curves in a word, the one that says most first (`causes/shapes.py`)."""
    trials: tuple[Trial, ...] = ()
    """Everything that was tried, in that order."""
