"""What a model could do once and cannot do any more (`sickbay.forgetting`)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassLoss:
    """One class that got worse."""

    name: str
    support: int
    before: float
    now: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """One earlier task (or one evaluation of a run): what it scored at best, and what it scores now."""

    name: str
    measure: str
    """ "accuracy", "mean absolute error", "loss"."""
    larger_is_better: bool
    before: float
    before_at: str
    """ "step 0", "the end of run a"."""
    now: float
    now_at: str
    worse: bool
    """Worse than before, beyond chance."""
    since: int | None = None
    """The first step from which on it was; None if it is not, or not known."""
    chance: float | None = None
    """How likely a difference as large as this is by chance, for all tasks and checks together; None where only curves are known."""
    lost: int = 0
    """Samples that were right and are wrong,"""
    gained: int = 0
    """...and the reverse; where samples can be told."""
    classes: tuple[ClassLoss, ...] = ()
    """Those that got worse beyond chance, most first."""
    course: tuple[tuple[int, float], ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """All tasks, those that got worse first."""

    tasks: tuple[Remembered, ...]
    notes: tuple[str, ...] = ()
