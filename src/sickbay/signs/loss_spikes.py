"""Isolated jumps of the loss, from which it recovers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.curves import Curve, running_median
from sickbay.signs.losses import judged_losses
from sickbay.signs.registry import share, sign

MINIMUM_STEPS = 50
FEW = 20
"""In a log, whose values are means, twenty of them show what is usual..."""
WINDOW = 31
PART = 6
"""...and their running level is taken over a sixth of them at most: they stand for long stretches, in which the loss falls far."""
# Batch losses have heavy tails: twelve robust standard deviations and three times the running level are beyond what
# reshuffled batches of healthy runs in the ward show.
DEVIATIONS = 12.0
RARE, SEVERAL = 0.03, 5
"""Many, and more than one value in thirty: that is how this loss is distributed (most samples solved, some hard ones), and no jump."""
TIMES = 3.0


@sign("loss-spikes")
def loss_spikes(record: Record) -> Iterator[Sign]:
    for c, _ in judged_losses(record):
        spikes = isolated(c, logged=record.facts.log is not None)
        if len(spikes) == 0:
            continue
        highest = float(np.max(c.values[spikes]))
        yield Sign(
            name="loss-spikes",
            where=c.name,
            steps=(int(c.steps[spikes[0]]), int(c.steps[spikes[-1]])),
            strength=share(len(spikes), 0, 10),
            numbers={"count": len(spikes), "highest": highest, "noise": c.noise},
            text=f"{len(spikes)} isolated jump{'s' if len(spikes) > 1 else ''} of the loss, the highest to {highest:.4g}",
        )


def isolated(c: Curve, *, logged: bool = False) -> NDArray[np.intp]:
    """Where the loss jumps and is back within the next steps: positions in the curve. A lasting rise is divergence, not a spike."""
    starts, usual = _jumps(c, logged)
    after = 2 if logged else 5
    if logged and len(starts) > max(SEVERAL, RARE * len(c)):
        return np.empty(0, np.intp)
    back = [i for i in starts if i + after < len(c) and np.min(c.values[i + 1 : i + 6]) < TIMES * usual[i]]
    return np.array(back, dtype=np.intp)


def jumps(c: Curve) -> NDArray[np.intp]:
    """Where the loss jumps up from its running level, whether it comes back or not."""
    return _jumps(c, logged=False)[0]


def _jumps(c: Curve, logged: bool) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The jumps, and the running level at every value."""
    if len(c) < (FEW if logged else MINIMUM_STEPS):
        return np.empty(0, np.intp), np.empty(0)
    usual = running_median(c.values, max(5, min(WINDOW, len(c) // PART)) if logged else WINDOW)
    high = (c.values > usual + DEVIATIONS * c.noise) & (c.values > TIMES * usual) & (c.noise > 0)
    high[:5] = False
    return np.flatnonzero(high & ~np.concatenate([[False], high[:-1]])), usual
