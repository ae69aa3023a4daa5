"""Isolated jumps of the loss, from which it recovers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.curves import Curve, running_median
from sickbay.signs.layers import nanmedian, weights
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
APART, HIGH = 4, 10.0
"""...unless they come at one and the same distance, with four values between them or more, to ten times the usual level: chance does not do that."""
TIMES = 3.0
NEAR = 5
"""Steps before and after a jump that show how it was usual, and whether it lasts."""


@sign("loss-spikes")
def loss_spikes(record: Record) -> Iterator[Sign]:
    for c, _ in judged_losses(record):
        spikes = isolated(c, logged=record.facts.log is not None)
        if len(spikes) == 0:
            continue
        highest = float(np.max(c.values[spikes]))
        around = _around(record, c.steps[spikes])
        yield Sign(
            name="loss-spikes",
            where=c.name,
            steps=(int(c.steps[spikes[0]]), int(c.steps[spikes[-1]])),
            strength=share(len(spikes), 0, 10),
            numbers={"count": len(spikes), "highest": highest, "noise": c.noise, **{f"{name} {when}": v for name, when, v in around}},
            text=f"{len(spikes)} isolated jump{'s' if len(spikes) > 1 else ''} of the loss, the highest to {highest:.4g}{_told(around)}",
        )


def _around(record: Record, steps: NDArray[np.int64]) -> list[tuple[str, str, float]]:
    """Gradient norm and size of the update at the jumps, and on the steps before and after, as far as they were measured: medians over all jumps."""
    unclipped = record.series("clip_norm")
    norms = unclipped if len(unclipped) else record.series("grad_norm")
    updates = weights(record, record.family("update_ratio"))
    measured = [("gradient norm", norms.steps, norms.values)]
    if len(updates.steps) and updates.parameters:
        measured.append(("update of the weights", updates.steps, nanmedian(updates.values, axis=1)))
    found = []
    for name, at, values in measured:
        for when, first, last in (("before", -NEAR, -1), ("there", 0, 0), ("after", 1, NEAR)):
            known = values[_near(at, steps, first, last) & np.isfinite(values)]
            if len(known):
                found.append((name, when, float(np.median(known))))
    return found


def _near(at: NDArray[np.int64], steps: NDArray[np.int64], first: int, last: int) -> NDArray[np.bool_]:
    """Which of the measured steps lie so near a jump."""
    return np.asarray(np.any((at[:, None] >= steps[None] + first) & (at[:, None] <= steps[None] + last), axis=1))


def _told(around: list[tuple[str, str, float]]) -> str:
    """ "; gradient norm 0.46 before, 118 there, 0.61 after"."""
    names = dict.fromkeys(name for name, when, _ in around if when == "there")
    return "".join("; " + name + " " + ", ".join(f"{value:.3g} {when}" for n, when, value in around if n == name) for name in names)


def isolated(c: Curve, *, logged: bool = False) -> NDArray[np.intp]:
    """Where the loss jumps and is back within the next steps: positions in the curve. A lasting rise is divergence, not a spike."""
    starts, usual = _jumps(c, logged)
    after = 2 if logged else 5
    if logged and len(starts) > max(SEVERAL, RARE * len(c)) and not _regular(c, starts, usual):
        return np.empty(0, np.intp)
    back = [i for i in starts if i + after < len(c) and np.min(c.values[i + 1 : i + 6]) < TIMES * usual[i]]
    return np.array(back, dtype=np.intp)


def _regular(c: Curve, starts: NDArray[np.intp], usual: NDArray[np.float64]) -> bool:
    """Whether many jumps lie equally far apart and are high, all of them: at the same place of every epoch."""
    apart = np.diff(starts)
    return bool(np.all(apart == apart[0]) and apart[0] >= APART and np.all(c.values[starts] > HIGH * usual[starts]))


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
