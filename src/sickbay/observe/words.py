"""Which ids (of words, of categories) stand at which position: do they mean the same in training and in evaluation?

Each row is one draw at each position, so two tables of counts can be compared without any assumption about the text. Where words got other ids, the shares
themselves remain, in another order.
"""

from __future__ import annotations

import math

import numpy as np

from sickbay import facts
from sickbay.observe.numbers import Array

POSITIONS, IDS = 16, 1024
MOST_ROWS = 20_000
FEWEST_ROWS = 50


class Words:
    """Counts of ids by position; ids from IDS on are counted as one."""

    def __init__(self) -> None:
        self.rows = 0
        self.counts = np.zeros((0, IDS), np.int64)

    def add(self, columns: Array) -> None:
        if self.rows >= MOST_ROWS or columns.dtype.kind not in "iu" or (self.rows and len(self.counts) != min(columns.shape[1], POSITIONS)):
            return
        ids = np.clip(columns[:, :POSITIONS].astype(np.int64), 0, IDS - 1)
        where = ids + IDS * np.arange(ids.shape[1])
        counts = np.bincount(where.reshape(-1), minlength=IDS * ids.shape[1]).reshape(-1, IDS)
        self.counts = counts if not self.rows else self.counts + counts
        self.rows += len(ids)


def shift(train: Words, evaluation: Words) -> facts.WordShift | None:
    """How far the two differ, beside what chance gives; None where there is too little to compare."""
    if min(train.rows, evaluation.rows) < FEWEST_ROWS or train.counts.shape != evaluation.counts.shape:
        return None
    p, q = train.counts / train.rows, evaluation.counts / evaluation.rows
    varied = np.flatnonzero((p > 0).sum(1) > 2)
    if not len(varied):
        return None
    p, q = p[varied], q[varied]
    both = (train.counts + evaluation.counts)[varied] / (train.rows + evaluation.rows)
    by_chance = math.sqrt(2 / math.pi * (1 / train.rows + 1 / evaluation.rows)) * np.sqrt(both * (1 - both)).sum(1) / 2
    return facts.WordShift(
        positions=len(varied),
        ids=int(((train.counts + evaluation.counts).sum(0) > 0).sum()),
        train_rows=train.rows,
        evaluation_rows=evaluation.rows,
        distance=float((np.abs(p - q).sum(1) / 2).mean()),
        by_chance=float(by_chance.mean()),
        in_order=float((np.abs(np.sort(p) - np.sort(q)).sum(1) / 2).mean()),
    )
