"""Gradients that an optimizer steps on are NaN or infinite."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.curves import drift
from sickbay.signs.losses import judged_losses
from sickbay.signs.registry import sign

# A gradient scaler (mixed precision) tries too large a scale now and then and skips the step: that is its way of working.
# PyTorch's GradScaler doubles every 2,000 steps, so in the long run about one step in a thousand; up to 5 % while it settles.
SKIPPED_SHARE = 0.05
FEWEST, ERRORS, FALLS = 8, 4.0, 0.03
"""Of a loss that falls on: its values since then, by how many errors of its line, and by which share."""


@sign("nonfinite-gradient")
def nonfinite_gradient(record: Record) -> Iterator[Sign]:
    found = list(_measured(record))
    yield from found or _noticed(record)


def _noticed(record: Record) -> Iterator[Sign]:
    """A few gradients are looked at before every update, also where their norm was not measured."""
    for loss in record.facts.losses:
        for first in loss.invalid:
            if first.backward and first.before_update:
                yield Sign(
                    name="nonfinite-gradient",
                    where=first.parameters[0] if first.parameters else "",
                    steps=(first.step, first.last or first.step),
                    strength=1.0,
                    numbers={"first": first.step, "count": first.times},
                    text=f"the gradient is not finite at step {first.step}, before its update, while the loss is",
                )


def _measured(record: Record) -> Iterator[Sign]:
    for series in record.series_like("grad_norm"):
        bad = np.flatnonzero(~np.isfinite(series.values))
        if len(bad) == 0 or (len(bad) <= SKIPPED_SHARE * len(series) and bad[-1] < len(series) - 1 and len(series) > 20):
            continue
        if record.facts.log is not None and (_came_back(np.isfinite(series.values)) or _learns_on(record, int(series.steps[bad[0]]))):
            continue
        first, last = int(series.steps[bad[0]]), int(series.steps[bad[-1]])
        yield Sign(
            name="nonfinite-gradient",
            where=series.name,
            steps=(first, last),
            strength=1.0,
            numbers={"first": first, "count": len(bad), "total": len(series)},
            text=f"the gradient norm is not finite at {len(bad)} of {len(series)} steps, first at step {first}",
        )


def _came_back(finite: NDArray[np.bool_]) -> bool:
    """In a log, where scalers are not seen: most norms are finite, and so are the last. Weights that were stepped on with NaN never give a finite one again, so those steps were skipped."""
    return bool(finite[-2:].any()) and float(np.mean(finite)) > 0.5


def _learns_on(record: Record, since: int) -> bool:
    """In a log: the loss falls on, so the weights are sound. The mean of the norms over an epoch is infinite if one of its steps was skipped."""
    for c, _ in judged_losses(record):
        values = c.values[c.steps >= since]
        down, error = drift(values, c.noise)
        if len(values) >= FEWEST and c.nonfinite == 0 and down > max(ERRORS * error, FALLS * abs(float(values[0]))):
            return True
    return False
