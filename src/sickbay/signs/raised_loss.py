"""The loss ends above where it began, if not so far above that it diverges: what was learned is lost, or something else is asked of the model since then."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.alternating_loss import alternates
from sickbay.signs.curves import Curve, blocks, end, level, start
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


@sign("raised-loss")
def raised_loss(record: Record) -> Iterator[Sign]:
    for c, _ in judged_losses(record):
        first, last = start(c), end(c)
        if len(c) < enough(record, MINIMUM_STEPS, FEW) or c.nonfinite or not _above(c):
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
            text=f"the loss ends at {last.value:.4g}, above the {first.value:.4g} it began with (lowest {float(np.min(c.values)):.4g}); it {'jumps up' if jump else 'rises'} at step {since}",
        )


def _above(c: Curve) -> bool:
    """Both the last tenth and the last third lie above the start, by more than chance: a jump at the very end says nothing yet."""
    first = start(c)
    tails = (end(c), level(c.values[-max(3, len(c) // 3) :], c.noise))
    return first.value > 0 and all(t.value - first.value > max(RISE * first.value, ERRORS * math.hypot(first.error, t.error)) for t in tails)


def _since(c: Curve) -> tuple[int, bool]:
    """From which step on it is higher, and whether half of the rise comes there at once."""
    parts = blocks(c.values, PARTS)
    at = int(np.argmax(np.diff(parts))) + 1
    edges = np.cumsum([0] + [len(p) for p in np.array_split(c.values, len(parts))])
    stretch = c.values[edges[at - 1] : edges[min(at + 1, len(parts))]]
    steepest = int(edges[at - 1]) + (int(np.argmax(np.diff(stretch))) + 1 if len(stretch) > 1 else 0)
    return int(c.steps[steepest]), bool(parts[at] - parts[at - 1] > 0.5 * (np.max(parts) - np.min(parts)))
