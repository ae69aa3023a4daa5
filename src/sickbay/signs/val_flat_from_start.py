"""Training loss falls, validation loss never does; in a log, is the same to its last digit in every evaluation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.curves import fell
from sickbay.signs.registry import share, sign
from sickbay.signs.validation import Comparison, comparisons, smoothed

TRAIN_FELL = 0.5
"""Training loss at least halved: something was learned..."""
VALIDATION_FELL = 0.1
"""...of which less than a tenth (of the untrained loss) shows on validation data, at its best."""
FROZEN = 5
"""Evaluations of a log that are all the same, while training loss falls beyond its noise: what is measured there is not what is trained."""


RIGHT = 0.9
"""Of a log's validation answers: with so many right it has all in common with training, however late the log begins."""


@sign("val-flat-from-start")
def val_flat_from_start(record: Record) -> Iterator[Sign]:
    for c in comparisons(record) if not _mostly_right(record) else ():
        train = float(np.median(c.train_level[-2:]))
        best = float(np.min(smoothed(c.validation.values)))
        if c.comparable and train < TRAIN_FELL * c.begin and best > (1 - VALIDATION_FELL) * c.begin:
            yield Sign(
                name="val-flat-from-start",
                where=c.validation.name,
                steps=(int(c.validation.steps[0]), int(c.validation.steps[-1])),
                strength=share(train / c.begin, TRAIN_FELL, 0.0),
                numbers={"train": train, "best": best, "begin": c.begin},
                text=f"training loss falls to {train - c.shift:.4g}, validation loss is never below {np.min(c.validation.values) - c.shift:.4g} (untrained: {c.begin - c.shift:.4g})",
            )
        elif record.facts.log is not None and _frozen(c):
            value = float(c.validation.values[0])
            yield Sign(
                name="val-flat-from-start",
                where=c.validation.name,
                steps=(int(c.validation.steps[0]), int(c.validation.steps[-1])),
                strength=1.0,
                numbers={"train": train, "best": value, "begin": c.begin},
                text=f"validation loss is {value - c.shift:.6g} in each of {len(c.validation)} evaluations, to the last digit, while training loss falls to {train - c.shift:.4g}",
            )


def _mostly_right(record: Record) -> bool:
    right = record.series("accuracy/eval").values
    right = right[np.isfinite(right)]
    return record.facts.log is not None and len(right) > 0 and float(right[-1]) >= RIGHT * (100 if float(np.max(right)) > 1 else 1)


def _frozen(c: Comparison) -> bool:
    values = c.validation.values
    same = len(values) >= FROZEN and c.validation.nonfinite == 0 and float(np.ptp(values)) == 0.0
    return same and values[0] != c.shift and fell(c.train)  # what is exactly 0 was not measured, or is solved
