"""Validation loss is persistently below training loss. By itself that is no illness: training is measured under handicaps that validation does not have."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.registry import share, sign
from sickbay.signs.validation import comparisons

MOSTLY = 0.8
"""Of the evaluations: a few may lie above."""
BELOW = 0.95
"""...by a twentieth at the end, which is worth a word."""
ANOTHER_SCALE = 0.01
"""A hundredth of the training loss is no easier data: one of the two is a sum, or single batches have blown the other up."""


@sign("val-below-train")
def val_below_train(record: Record) -> Iterator[Sign]:
    for c in comparisons(record):
        with np.errstate(invalid="ignore"):
            below = float(np.mean(c.validation.values < c.train_level))
        train, validation = float(np.median(c.train_level[-2:])), float(np.median(c.validation.values[-2:]))
        if c.comparable and below > MOSTLY and ANOTHER_SCALE * train < validation < BELOW * train:
            yield Sign(
                name="val-below-train",
                where=c.validation.name,
                steps=(int(c.validation.steps[0]), int(c.validation.steps[-1])),
                strength=share(validation / train, 1.0, 0.5),
                numbers={"train": train, "validation": validation, "share": below},
                text=f"validation loss ({validation - c.shift:.4g}) stays below training loss ({train - c.shift:.4g})",
            )
