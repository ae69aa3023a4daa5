"""One way in which a script evaluates, and what its passes add up to."""

from __future__ import annotations

from types import CodeType
from typing import NamedTuple

from sickbay.nouns import Place
from sickbay.observe.judged import HandPass

Line = tuple[CodeType, int]


class Score(NamedTuple):
    """What one pass came to; None for what is not known of it."""

    loss: float | None
    accuracy: float | None


class Evaluation:
    """A place in the source (and the caller of that place) and a data set."""

    def __init__(self, index: int, place: Place | None, loader: int | None) -> None:
        self.index = index
        self.place = place
        self.loader = loader
        self.by_hand = False
        self.part = 0
        self.model: Line | None = None
        """Where the model is called,"""
        self.caller: Line | None = None
        """...and where the function around that."""
        self.passes = 0
        self.loss = 0.0
        self.weight = 0.0
        self.right = 0.0
        self.judged = 0.0
        self.batches = 0
        self.samples = 0

    def add(self, loss: float, samples: int, accuracy: float | None) -> None:
        self.loss += loss * samples
        self.weight += samples
        self.batches += 1
        if accuracy is not None:
            self.right += accuracy * samples
            self.judged += samples

    def add_by_hand(self, found: HandPass) -> None:
        self.batches += 1
        self.right += found.right
        self.judged += found.judged
        self.loss += found.loss
        self.weight += found.weight

    def same_as(self, loader: int | None, found: HandPass) -> bool:
        """Whether what was judged by hand is what a loss was computed of in the same pass: one evaluation, not two."""
        return (loader is not None and loader == self.loader) or (self.weight > 0 and int(self.weight) in (found.judged, found.weight))

    def close(self) -> Score:
        loss = self.loss / self.weight if self.weight else None
        accuracy = self.right / self.judged if self.judged else None
        self.passes += 1
        self.samples = int(self.weight or self.judged)
        self.loss = self.weight = self.right = self.judged = 0.0
        self.batches = 0
        return Score(loss, accuracy)
