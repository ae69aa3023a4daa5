"""A scheduler that waits for a plateau and does not wait: with next to no patience, noise between two evaluations is enough to lower the rate."""

from __future__ import annotations

import re

import numpy as np

from sickbay.causes.evidence import located, strong
from sickbay.causes.schedules import judged_schedulers, rates_of
from sickbay.facts import Scheduler
from sickbay.nouns import Evidence, Place, Series
from sickbay.record.reader import Record
from sickbay.script.written import named_like
from sickbay.signs.curves import Curve, end, level
from sickbay.signs.losses import enough, judged_losses

IMPATIENT = 1
"""Evaluations without a new best that it bears. Of a loss that falls slower than its noise every second evaluation is none, so that two in a row come within a few epochs."""
DEAD, HALF = 1e-3, 0.5
"""Half of the run and more at a thousandth of the rate: three cuts to a tenth. A scheduler that waits gets there when there is nothing left to win, and few runs go on as long again after that."""
STILL_FALLING = 0.1
"""The loss fell by a tenth from the middle to the end of the time at the full rate: it was on its way down when the first cut came."""
STANDS = 0.02
SOLVED = 0.01
"""A loss below a hundredth of its first value may well be done."""
MINIMUM_STEPS, MINIMUM_PHASE = 100, 18
PATIENCE = re.compile("patience", re.IGNORECASE)


def impatient(record: Record) -> Evidence | None:
    """The rate was cut again and again while the loss was still falling, and most of the run was made with none left."""
    for s in judged_schedulers(record):
        patience, rates = s.settings.get("patience"), rates_of(record, s)
        if s.kind != "ReduceLROnPlateau" or patience is None or patience > IMPATIENT or not len(rates) or not np.all(np.isfinite(rates.values)):
            continue
        died = _died_at(rates)
        for c, _ in judged_losses(record) if died is not None else ():
            if died is not None and len(c) >= enough(record, MINIMUM_STEPS) and _was_falling(c, rates) and _stands(c, died):
                return _told(record, s, patience, c, rates, died)
    return None


def _told(record: Record, s: Scheduler, patience: float, c: Curve, rates: Series, died: int) -> Evidence:
    top, last, count = float(np.max(rates.values)), float(rates.values[-1]), int(rates.steps[-1]) + 1
    place = _place(record, s, patience)
    return strong(
        f"ReduceLROnPlateau with a patience of {patience:g} lowers the rate {'at the first evaluation' if patience == 0 else 'after two evaluations'} without a new best: it fell from {top:.3g} to a "
        f"thousandth of that by step {died} of {count:,} (now {last:.2g}), while the loss was still falling; since then that stands at {end(c).value:.4g}{located(place, '; patience at')}",
        place,
        (died, int(c.steps[-1])),
        highest=top,
        last=last,
        patience=patience,
    )


def _died_at(rates: Series) -> int | None:
    """The step from which the rate is below a thousandth of its highest, if more than half of the run comes after it."""
    alive = np.flatnonzero(rates.values > 1.001 * DEAD * np.max(rates.values))
    at = int(alive[-1]) + 1 if len(alive) else 0
    return int(rates.steps[at]) if 0 < at < HALF * len(rates) else None


def _was_falling(c: Curve, rates: Series) -> bool:
    full = rates.steps[rates.values > 0.999 * np.max(rates.values)]
    phase = c.values[(c.steps >= full[0]) & (c.steps <= full[-1])]
    if len(phase) < MINIMUM_PHASE:
        return False
    middle, last = level(phase[len(phase) // 3 : len(phase) // 2], c.noise), level(phase[-max(3, len(phase) // 6) :], c.noise)
    return middle.value - last.value > max(STILL_FALLING * middle.value, 2 * float(np.hypot(middle.error, last.error)))


def _stands(c: Curve, died: int) -> bool:
    rest = c.values[c.steps >= died]
    if len(rest) < MINIMUM_PHASE or end(c).value < SOLVED * float(c.values[0]):
        return False
    early, late = (level(part, c.noise) for part in np.array_split(rest, 2))
    return abs(early.value - late.value) < STANDS * late.value + 2 * float(np.hypot(early.error, late.error))


def _place(record: Record, s: Scheduler, patience: float) -> Place | None:
    return named_like(record, patience, PATIENCE) or s.built_at
