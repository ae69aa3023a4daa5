"""Validation loss stays far above training loss, and the gap widens."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.registry import share, sign
from sickbay.signs.validation import comparisons

TIMES = 2.0
"""Half the loss on unseen data: below that, every finite data set shows a gap."""
MATTERS = 0.1
"""A gap of less than a tenth of the untrained loss is no gap worth telling, whatever the ratio (0.001 against 0.02)."""


def _late_fall(values: np.ndarray) -> float:
    """How much the second half of the evaluations improved, as a share of the level in the middle."""
    third = max(1, len(values) // 6)
    middle, last = float(np.median(values[len(values) // 2 - third // 2 :][:third])), float(np.median(values[-third:]))
    return (middle - last) / middle if middle > 0 else 0.0


@sign("train-val-gap")
def train_val_gap(record: Record) -> Iterator[Sign]:
    for c in comparisons(record):
        tail = max(2, len(c.validation) // 6)
        train, validation = float(np.median(c.train_level[-tail:])), float(np.median(c.validation.values[-tail:]))
        gaps = (c.validation.values - c.train_level)[: max(1, len(c.validation) // 2)]
        first = float(np.min(gaps[np.isfinite(gaps)], initial=np.inf))
        gap = validation - train
        if c.comparable and validation > TIMES * train and gap > MATTERS * c.begin and gap > first + 3 * c.validation.noise:
            yield Sign(
                name="train-val-gap",
                where=c.validation.name,
                steps=(int(c.validation.steps[0]), int(c.validation.steps[-1])),
                strength=share(gap / c.begin, 0.0, 1.0),
                numbers={"train": train, "validation": validation, "late_fall": _late_fall(c.validation.values)},
                text=f"training loss ends at {train - c.shift:.4g}, validation loss at {validation - c.shift:.4g}, and the gap has widened",
            )
