"""What a classifier predicts at the end of a run, class by class."""

from __future__ import annotations

import numpy as np

from sickbay.record.reader import Record

LOOKS = 3
"""Fewer looks at the predictions say nothing of the end."""


def last_shares(record: Record, name: str, classes: int = 2) -> np.ndarray | None:
    """Each class's share of the predictions in the last fifth of the looks; None if there are too few looks, or fewer classes than that."""
    family = record.family(name)
    if len(family.steps) < LOOKS or len(family.names) < classes:
        return None
    values = np.asarray(family.values, float)[-max(LOOKS, len(family.steps) // 5) :]
    seen = np.isfinite(values)
    sums = np.where(seen, values, 0.0).sum(axis=0)
    return np.asarray(np.divide(sums, seen.sum(axis=0), out=np.full(len(sums), np.nan), where=seen.any(axis=0)))
