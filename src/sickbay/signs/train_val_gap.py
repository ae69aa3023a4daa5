"""Validation loss stays far above training loss, and the gap widens."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.registry import share, sign
from sickbay.signs.validation import Comparison, comparisons

TIMES = 2.0
"""Half the loss on unseen data: below that, every finite data set shows a gap."""
MATTERS = 0.1
"""A gap of less than a tenth of the untrained loss is no gap worth telling, whatever the ratio (0.001 against 0.02)."""
# In a log, where validation is no lower in its second half than it was at first, over a dozen evaluations, while training fell by a fifth: all that
# it won is its own, so that less of a gap is enough.
STOOD_TIMES, STOOD, DOZEN, FELL = 1.75, 0.98, 12, 0.8


def _left_behind(c: Comparison, train: float) -> bool:
    """Whether the second half of the evaluations is no lower than the first quarter of them, while training fell."""
    values = c.validation.values
    stood = len(values) >= DOZEN and float(np.median(values[len(values) // 2 :])) > STOOD * float(np.median(values[: len(values) // 4]))
    return stood and train < FELL * float(np.median(c.train_level[1:4]))


def _mean_since(c: Comparison, evaluations: int) -> float:
    """Of training loss since so many evaluations before the last: validation loss is a mean, and a few bad batches in each epoch count in it as well."""
    begin = c.validation.steps[-evaluations - 1] if len(c.validation) > evaluations else -1
    values = c.train.values[c.train.steps > begin]
    return float(np.mean(values)) if len(values) else 0.0


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
        stood = record.facts.log is not None and _left_behind(c, train)
        if (
            c.comparable
            and validation > (STOOD_TIMES if stood else TIMES) * train
            and gap > MATTERS * c.begin
            and gap > first + 3 * c.validation.noise
            and not (record.facts.log is not None and _mean_since(c, tail) > validation)
        ):
            yield Sign(
                name="train-val-gap",
                where=c.validation.name,
                steps=(int(c.validation.steps[0]), int(c.validation.steps[-1])),
                strength=share(gap / c.begin, 0.0, 1.0),
                numbers={"train": train, "validation": validation, "late_fall": _late_fall(c.validation.values), "stood": float(stood)},
                text=f"training loss ends at {train - c.shift:.4g}, validation loss at {validation - c.shift:.4g}, and the gap has widened",
            )
