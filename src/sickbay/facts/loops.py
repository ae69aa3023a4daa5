"""Loops of the script that make very many small operations of a step."""

from __future__ import annotations

from dataclasses import dataclass

from sickbay.nouns import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """A loop whose rounds do the same to parts of a tensor and do not need each other, as seen on the steps that were followed operation by operation."""

    place: Place | None = None
    """The line of its body that most of its operations come from,"""
    loop: Place | None = None
    """...and the loop itself."""
    rounds: int = 0
    """Rounds per step that do not depend on one another."""
    operations: int = 0
    """Its operations per step,"""
    total: int = 0
    """...and all operations that were followed from one step to the next."""
    attached: float = 0.0
    """Of the operations that a backward pass goes through, the share that are its."""
    seconds: float = 0.0
    """What its operations took in one step, without the backward pass and without anything between them,"""
    each_seconds: float = 0.0
    """...and the usual one of them."""
    smallest_seconds: float = 0.0
    """What an operation on a handful of numbers takes on this machine: the price of a call, whatever it works on."""
    numbers: int = 0
    """How many numbers the usual one of them gives."""
    kinds: tuple[str, ...] = ()
    """The commonest of them by name."""
    looks: int = 0
    """Steps that were followed,"""
    found: int = 0
    """...and those that had this loop."""
    truncated: bool = False
    """There were more operations than are followed: the counts are those of the part that was."""
