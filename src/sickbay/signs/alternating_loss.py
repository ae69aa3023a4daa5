"""In a log: the loss is thrown from one level to another and back, at once, or up at the beginning of every epoch.

Two kinds of data take turns, or a part of the loss is switched on and off. Weights that were lost do not come back from one value to the next, so a curve that has
jumped down as well as up is no divergence, whichever level it ends on. A loss that begins every epoch high and falls until its end, and begins the last no lower
than the first, learns what comes late in the epoch and loses it again: the samples come in an order.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.curves import Curve, rank_correlation
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
EPOCHS, VALUES = 3, 4
"""So many epochs of so many values at least: noise alone falls from value to value in all of them once in 10,000 logs."""
STEADY, UP = -0.8, 1.25
"""Rank correlation with time within each epoch; and the first value of an epoch, as times the last of the one before."""


@sign("alternating-loss")
def alternating_loss(record: Record) -> Iterator[Sign]:
    for c, _ in judged_losses(record) if record.facts.log is not None else ():
        if (teeth := _teeth(record, c)) is not None:
            firsts, lasts = teeth
            yield Sign(
                name="alternating-loss",
                where=c.name,
                steps=(int(c.steps[0]), int(c.steps[-1])),
                strength=share(float(np.median(lasts / firsts)), 1.0, 0.0),
                numbers={"low": float(np.median(lasts)), "high": float(np.median(firsts))},
                text=f"the loss jumps up with each of {len(firsts)} epochs (to {firsts[-1]:.3g} with the last) and falls to {np.median(lasts):.3g} until its end",
            )
        elif alternates(c):
            low, high = (float(x) for x in np.percentile(c.values, [10, 90]))
            yield Sign(
                name="alternating-loss",
                where=c.name,
                steps=(int(c.steps[0]), int(c.steps[-1])),
                strength=share(low / high, 1.0, 0.0),
                numbers={"low": low, "high": high},
                text=f"the loss jumps up and down between {low:.3g} and {high:.3g} and stays a while on either",
            )


def _teeth(record: Record, c: Curve) -> tuple[np.ndarray, np.ndarray] | None:
    """The first and the last loss of each epoch, if the loss begins every epoch high and falls until its end, and no lower with the last than with the first."""
    epochs = record.series("epoch")
    if len(epochs) < EPOCHS * VALUES or len(c) < EPOCHS * VALUES:
        return None
    at = np.floor(epochs.values[np.maximum(np.searchsorted(epochs.steps, c.steps, side="right") - 1, 0)])
    parts = np.split(c.values, np.flatnonzero(np.diff(at)) + 1)
    if len(parts) < EPOCHS or min(map(len, parts)) < VALUES or any(rank_correlation(p) > STEADY for p in parts):
        return None
    firsts, lasts = np.array([p[0] for p in parts]), np.array([p[-1] for p in parts])
    return (firsts, lasts) if firsts[-1] >= firsts[0] and bool(np.all(firsts[1:] > UP * lasts[:-1])) else None


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
