"""Training loss falls, validation loss never does."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.registry import share, sign
from sickbay.signs.validation import comparisons, smoothed

TRAIN_FELL = 0.5
"""Training loss at least halved: something was learned..."""
VALIDATION_FELL = 0.1
"""...of which less than a tenth (of the untrained loss) shows on validation data, at its best."""


@sign("val-flat-from-start")
def val_flat_from_start(record: Record) -> Iterator[Sign]:
    for c in comparisons(record):
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
