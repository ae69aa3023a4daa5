"""The loss ends above where it began, if not so far above that it diverges: what was learned is lost, or something else is asked of the model since then.

In a log also a loss that has won far more than it loses again, but rises without a break for two fifths of the run and longer, to half as much again as it was.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.alternating_loss import alternates
from sickbay.signs.curves import Curve, blocks, end, level, noise, rank_correlation, start
from sickbay.signs.losses import enough, judged_losses
from sickbay.signs.registry import share, sign
from sickbay.signs.validation import validation_falls, validation_won

MINIMUM_STEPS = 50
FEW = 8
# Of 239 recorded runs of the ward (healthy and sick) only four end so, all of them sick: 1.16, 2.6, 96 and more times their start at over 17 standard errors.
# Look-alikes without a cause (batches of single samples) stay below two standard errors.
RISE = 0.05
ERRORS = 4.0
FALLS = 0.03
"""Validation that falls by this share says that training became harder (other samples, augmentation), not worse."""
PARTS = 20
# Of a log, whose values are means: a dozen of them at least, in which noise alone has no such order (once in 100,000 logs).
FOR_LONG, DOZEN, UNBROKEN, AGAIN = 0.4, 12, 0.9, 0.5


@sign("raised-loss")
def raised_loss(record: Record) -> Iterator[Sign]:
    for c, _ in judged_losses(record):
        first, last = start(c), end(c)
        climbed = record.facts.log is not None and _climbs(c)
        if len(c) < enough(record, MINIMUM_STEPS, FEW) or c.nonfinite or not (climbed or _above(c)):
            continue
        if record.facts.log is not None and alternates(c):
            continue
        if validation_won(record, int(c.steps[np.argmin(c.values)])) or validation_falls(record, 0.0, FALLS):
            continue
        since, jump = _since(c)
        yield Sign(
            name="raised-loss",
            where=c.name,
            steps=(since, int(c.steps[-1])),
            strength=share(last.value / max(first.value, 1e-12), 1.0, 3.0),
            numbers={"start": first.value, "end": last.value, "lowest": float(np.min(c.values)), "since": float(since), "jump": float(jump)},
            text=f"the loss rises from {float(np.min(c.values)):.4g} at step {c.steps[np.argmin(c.values)]} to {last.value:.4g}, without a break, over {len(c) - int(np.argmin(c.values))} of {len(c)} values"
            if climbed
            else f"the loss ends at {last.value:.4g}, above the {first.value:.4g} it began with (lowest {float(np.min(c.values)):.4g}); it {'jumps up' if jump else 'rises'} at step {since}",
        )


def _above(c: Curve) -> bool:
    """Both the last tenth and the last third lie above the start, by more than chance: a jump at the very end says nothing yet."""
    first = start(c)
    tails = (end(c), level(c.values[-max(3, len(c) // 3) :], c.noise))
    return first.value > 0 and all(t.value - first.value > max(RISE * first.value, ERRORS * math.hypot(first.error, t.error)) for t in tails)


def _climbs(c: Curve) -> bool:
    """It rises from its best on, without a break and beyond its noise."""
    since = c.values[int(np.argmin(c.values)) :]
    rise = end(c).value - float(since[0])
    long_enough = len(since) >= max(DOZEN, FOR_LONG * len(c))
    return long_enough and rise > AGAIN * float(since[0]) and rise > ERRORS * noise(since) and rank_correlation(since) > UNBROKEN


def _since(c: Curve) -> tuple[int, bool]:
    """From which step on it is higher, and whether half of the rise comes there at once."""
    parts = blocks(c.values, PARTS)
    at = int(np.argmax(np.diff(parts))) + 1
    edges = np.cumsum([0] + [len(p) for p in np.array_split(c.values, len(parts))])
    stretch = c.values[edges[at - 1] : edges[min(at + 1, len(parts))]]
    steepest = int(edges[at - 1]) + (int(np.argmax(np.diff(stretch))) + 1 if len(stretch) > 1 else 0)
    return int(c.steps[steepest]), bool(parts[at] - parts[at - 1] > 0.5 * (np.max(parts) - np.min(parts)))
