"""At which end sequences of ids are filled up to one length: with what, in how many rows."""

from __future__ import annotations

import torch

from sickbay import facts

IDS = (0, 1, 2)
"""What rows are filled with: 0 nearly always, 1 or 2 where the first ids begin and end a text."""
MOST_ROWS = 4000
FEWEST_ROWS = 50


class Filling:
    """Of the rows of several batches, those that begin, and those that end, with twice the same of these ids."""

    def __init__(self) -> None:
        self.rows = 0
        self.begin = [0] * len(IDS)
        self.end = [0] * len(IDS)

    def add(self, x: torch.Tensor) -> None:
        if x.dim() != 2 or x.is_floating_point() or x.dtype == torch.bool or x.shape[1] < 4 or self.rows >= MOST_ROWS:
            return
        first, last = x[:, :2], x[:, -2:]
        for i, number in enumerate(IDS):
            self.begin[i] += int((first == number).all(1).sum())
            self.end[i] += int((last == number).all(1).sum())
        self.rows += len(x)


def compared(trained: Filling, shown: Filling) -> facts.Filled | None:
    """With the id that the shorter rows of training are filled with; None where nothing is, or too little was seen."""
    if min(trained.rows, shown.rows) < FEWEST_ROWS:
        return None
    most = max(range(len(IDS)), key=lambda i: trained.begin[i] + trained.end[i])
    if not trained.begin[most] + trained.end[most]:
        return None
    return facts.Filled(
        id=IDS[most],
        train=(trained.begin[most] / trained.rows, trained.end[most] / trained.rows),
        evaluation=(shown.begin[most] / shown.rows, shown.end[most] / shown.rows),
    )
