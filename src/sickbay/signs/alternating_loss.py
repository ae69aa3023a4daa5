"""In a log: the loss is thrown from one level to another and back, at once.

Two kinds of data take turns, or a part of the loss is switched on and off. Weights that were lost do not come back from one value to the next, so a curve that has
jumped down as well as up is no divergence, whichever level it ends on.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.curves import Curve
from sickbay.signs.losses import judged_losses
from sickbay.signs.registry import share, sign
from sickbay.signs.validation import smoothed

CHANGES = 3
"""Up, down and up again: one jump may be a divergence, and a fall and a jump after it too."""
STAYS = 3
"""Values in a row: fewer are spikes, or, at the beginning, the descent of an untrained model."""
BETWEEN = 0.1
"""Of the values at most: a loss that slides from one level to the other is learning, or losing what it learned. Noise alone, without levels, has a third of them there."""
APART = 0.2
NOISES = 6.0


@sign("alternating-loss")
def alternating_loss(record: Record) -> Iterator[Sign]:
    for c, _ in judged_losses(record) if record.facts.log is not None else ():
        if alternates(c):
            low, high = (float(x) for x in np.percentile(c.values, [10, 90]))
            yield Sign(
                name="alternating-loss",
                where=c.name,
                steps=(int(c.steps[0]), int(c.steps[-1])),
                strength=share(low / high, 1.0, 0.0),
                numbers={"low": low, "high": high},
                text=f"the loss jumps up and down between {low:.3g} and {high:.3g} and stays a while on either",
            )


def alternates(c: Curve) -> bool:
    """Whether the loss jumps up and down between two levels, on both of which it stays."""
    if len(c) < (CHANGES + 1) * STAYS or c.nonfinite:
        return False
    values = smoothed(c.values)
    low, high = np.percentile(values, [10, 90])
    apart = float(high - low)
    if apart < APART * abs(float(high)) or apart < NOISES * c.noise:
        return False
    between = float(np.mean((values > low + apart / 3) & (values < high - apart / 3)))
    changes = np.flatnonzero(np.diff(values > (low + high) / 2)) + 1
    lengths = np.diff(np.concatenate([[0], changes, [len(values)]]))
    return between < BETWEEN and len(changes) >= CHANGES and bool(np.all(lengths[:-1] >= STAYS))
