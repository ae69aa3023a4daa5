"""The random generators that a process shares, and how each training of the run began."""

from __future__ import annotations

from dataclasses import dataclass, field

from sickbay.nouns import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Generator:
    """One of the generators that a whole process shares."""

    name: str
    """ "python", "numpy" or "torch"."""
    before: bool = False
    """Its state changed between the import of torch and the first training step: it was drawn from, or seeded."""
    looks: int = 0
    """Training steps before which its state was looked at,"""
    moved: int = 0
    """...and those between which it changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How one training began, as hashes: two that began alike should go alike."""

    step: int = 0
    place: Place | None = None
    """Where its optimizer was made."""
    weights: str = ""
    """Empty where they lie on a device."""
    given: str = ""
    """The optimizer and its numbers, the arguments of the functions that it runs in, and what the loops around it set."""
    states: dict[str, str] = field(default_factory=dict)
    """Of each generator."""
