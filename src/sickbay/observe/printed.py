"""Losses that the script prints: a validation loss that is worked out by hand is seen nowhere else.

Of a line only the numbers behind such words are kept ("val mse 0.31"), and of the words before them only those for losses and phases.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from sickbay.observe.observer import Observer

if TYPE_CHECKING:
    from sickbay.observe.session import Session

NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
WORD = re.compile(r"[A-Za-z][\w/.-]*")
BEFORE, WORDS = 44, 4
"""Characters and words before a number that say what it is."""
LOSS = re.compile(
    r"(?<![a-z])(?:loss|r?mse|perplexity|ppl|nll|xent|ce|bce|elbo|cost|objective|train|val|valid|validation|test|dev|held[ -]?out)(?![a-z])",
    re.IGNORECASE,
)
KNOWN = frozenset(
    "loss mse rmse mae nll xent ce bce elbo cost objective err error acc accuracy ppl perplexity train training val va valid validation eval test dev held out held-out heldout "
    "epoch step iter batch avg average mean running total set final last".split()
)
OTHER = "*"
"""Stands for every other word: it may be a name out of the user's data."""
MOST_LABELS, MOST_LINES, MOST_NUMBERS = 16, 20_000, 16


class PrintWatch(Observer):
    """Listens to lines with losses in them."""

    name = "printed"
    sees = "losses that the script prints"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.labels: set[str] = set()
        self.lines = 0

    def printed(self, text: str) -> None:
        if self.lines >= MOST_LINES or LOSS.search(text) is None:
            return
        found: dict[str, float] = {}
        for name, value in _pairs(text):
            if LOSS.search(name) and (name in self.labels or len(self.labels) < MOST_LABELS) and math.isfinite(value):
                self.labels.add(name)
                found.setdefault(name, value)
        if found:
            self.lines += 1
            self.session.writer.frame("printed", self.session.step, tuple(found), list(found.values()))


def _pairs(text: str) -> Iterator[tuple[str, float]]:
    """Each number with the words between it and the one before."""
    end = 0
    for number in islice(NUMBER.finditer(text), MOST_NUMBERS):
        before = text[max(end, number.start() - BEFORE) : number.start()]
        words = " ".join(WORD.findall(re.split(r"[,;|]", before)[-1])).replace("_", " ").lower().split()[-WORDS:]
        yield " ".join(w if w in KNOWN else OTHER for w in words), float(number.group())
        end = number.end()
