"""The loss swings up and down from step to step by more than a changing batch explains."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.curves import lag_one, level
from sickbay.signs.losses import judged_losses
from sickbay.signs.registry import share, sign

MINIMUM_STEPS = 20
# Independent noise has a lag-one correlation of 0 with a spread of 1/sqrt(n): at the 20 or more values used here -0.5 is
# beyond its reach (over two standard errors at the fewest); an overshooting step gives values near -1.
SWING = -0.5
# Full-batch training at a good learning rate hovers at the edge of stability with small swings (Cohen et al. 2021); a
# fifth of the level is no longer small.
AMPLITUDE = 0.2
# The mean over an epoch does not depend on which batch came when: of a log of epochs eight values do, if they swing by three tenths of their level.
FEW_EPOCHS = 8
# What logs hold are means, which swing by a fifth in many a healthy fine-tuning, if not with every single value.
OF_MEANS, EVERY_TIME = 0.3, -0.85
# Of few values the running mean that is taken out is of five, which leaves noise alone at -0.3: of 20 to 59 values 1.6 / sqrt(n) below that are
# as far beyond its reach as -0.5 is beyond that of more (in 4,000 curves of noise: 0.5 %, instead of 9 % of those with 20 values).
FEW, LEFT, REACH = 60, -0.3, 1.6


@sign("oscillating-loss")
def oscillating_loss(record: Record) -> Iterator[Sign]:
    # With two or three batches per epoch in a fixed order, the data alternate, not the training.
    if (record.facts.run.steps_per_epoch or 99.0) in (2.0, 3.0):
        return
    epochs = record.facts.log is not None and record.facts.log.axis == "epoch"
    for c, _ in judged_losses(record):
        tail = c.values[-max(len(c) - len(c) // 2, FEW_EPOCHS if epochs else 1) :]
        if len(tail) < (FEW_EPOCHS if epochs else MINIMUM_STEPS):
            continue
        correlation, middle = lag_one(tail), level(tail, c.noise).value
        swing = float(np.median(np.abs(np.diff(tail))))
        plainly = record.facts.log is None or (len(tail) >= MINIMUM_STEPS and correlation < EVERY_TIME)
        least = AMPLITUDE if plainly else OF_MEANS
        if correlation < _reach(record, len(tail)) and swing > least * abs(middle) > 0:
            yield Sign(
                name="oscillating-loss",
                where=c.name,
                steps=(int(c.steps[len(c) // 2]), int(c.steps[-1])),
                strength=share(correlation, SWING, -1.0),
                numbers={"correlation": correlation, "swing": swing, "level": middle},
                text=f"the loss swings by {swing:.3g} around {middle:.3g} with nearly every step (lag-one correlation {correlation:.2f})",
            )


def _reach(record: Record, values: int) -> float:
    """The lag-one correlation that noise alone does not reach."""
    logged_few = record.facts.log is not None and MINIMUM_STEPS <= values < FEW
    return LEFT - REACH / math.sqrt(values) if logged_few else SWING
