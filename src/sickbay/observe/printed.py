"""Losses that the script prints: a validation loss that is worked out by hand is seen nowhere else.

Of a line only the numbers behind such words are kept ("val mse 0.31"), with at most the few words before them.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from sickbay.observe.observer import Observer

if TYPE_CHECKING:
    from sickbay.observe.session import Session

PAIR = re.compile(r"([A-Za-z][A-Za-z0-9_ /().-]{0,40}?)\s*[:=]?\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?![\w.])")
LOSS = re.compile(
    r"(?<![a-z])(?:loss|mse|nll|xent|ce|bce|elbo|cost|objective|train|val|valid|validation|test|dev|held[ -]?out)(?![a-z])", re.IGNORECASE
)
MOST_LABELS, MOST_LINES, MOST_PAIRS = 16, 20_000, 8


class PrintWatch(Observer):
    """Listens to lines with losses in them."""

    name = "printed"
    sees = "losses that the script prints"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.labels: set[str] = set()
        self.lines = 0

    def printed(self, text: str) -> None:
        if self.lines >= MOST_LINES:
            return
        found: dict[str, float] = {}
        for label, number in PAIR.findall(text)[:MOST_PAIRS]:
            name = " ".join(label.replace("_", " ").split()[-4:]).lower()
            if LOSS.search(name) and (name in self.labels or len(self.labels) < MOST_LABELS) and math.isfinite(value := float(number)):
                self.labels.add(name)
                found.setdefault(name, value)
        if found:
            self.lines += 1
            self.session.writer.frame("printed", self.session.step, tuple(found), list(found.values()))
