"""The loss rises far above its start and stays there, grows without bound, or loses for good what it had won."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.alternating_loss import alternates
from sickbay.signs.curves import Curve, best, end, noise, start
from sickbay.signs.losses import enough, judged_losses
from sickbay.signs.registry import share, sign
from sickbay.signs.validation import validation_won

# Three times its start, for the last fifth of the run without one value back at the start: curricula, warm-ups and noisy
# batches stay below this; a start of 0 (already solved) has no "times", so its noise counts too.
FACTOR = 3.0
NOISES = 10.0
# A hundredfold rise within the last values before NaN or the end of the run is growth without bound, however few steps there were.
EXPLODING = 100.0
# In a log, whose values are means: half of all that was won is lost again, and more than the best level once more.
LOST = 0.5
RELAPSE = 1.0
# Or, for the last quarter of it and longer: a quarter of what was won, and a fifth of the best level. Runs that diverge at the top of a warm-up
# often end between their best and their start (a language model at the entropy of single words); cycles of the rate come back within a quarter.
LOST_FOR_LONG = 0.25
RELAPSE_FOR_LONG = 0.2


@sign("diverging-loss")
def diverging_loss(record: Record) -> Iterator[Sign]:
    for c, _ in judged_losses(record):
        first, last = _start(c), end(c, 0.2)
        exploding = _explodes(c, first)
        lost = record.facts.log is not None and _lost(c) and not alternates(c) and not validation_won(record, int(c.steps[np.argmin(c.values)]))
        if not exploding and not lost and not _stays_high(c, first, last.value, enough(record, 15, 5)):
            continue
        top = float(np.max(c.values))
        since = int(c.steps[np.flatnonzero(c.values <= max(first, FACTOR * first))[-1]]) if np.any(c.values <= FACTOR * first) else int(c.steps[0])
        fell = f"first falls to {float(np.min(c.values)):.4g}, then " if lost and np.argmin(c.values) > 0 else ""
        yield Sign(
            name="diverging-loss",
            where=c.name,
            steps=(since, int(c.steps[-1])),
            strength=1.0 if exploding else share(last.value / max(first, 1e-12), 1.0, 10.0),
            numbers={"start": first, "end": last.value, "highest": top, "exploding": float(exploding)},
            text=f"the loss {fell}{'explodes' if exploding else 'rises'} from {first:.4g} to {float(c.values[-1]):.4g} (highest {top:.4g})",
        )


def _start(c: Curve) -> float:
    # A divergence can take three steps: then only the very first value is a start.
    return min(start(c).value, float(c.values[0])) if len(c) < 30 else start(c).value


def _stays_high(c: Curve, first: float, last: float, minimum: int) -> bool:
    tail = c.values[-max(min(5, len(c) // 2), len(c) // 5) :]
    early = noise(c.values[: max(10, len(c) // 10)])  # the noise of the end has grown with the loss
    if 2 <= len(c) < 15 and np.median(np.diff(c.values)) > 0:
        early = 0.0  # few values that climb on and on: their differences are the climb
    return len(c) >= minimum and last > FACTOR * first + NOISES * early and float(np.min(tail)) > first


def _lost(c: Curve) -> bool:
    """It had fallen, and for the last part of the run it is back up, beyond any noise."""
    return len(c) >= 8 and (
        _back_up(c, max(3, len(c) // 6), LOST, RELAPSE) or (len(c) >= 16 and _back_up(c, len(c) // 4, LOST_FOR_LONG, RELAPSE_FOR_LONG))
    )


def _back_up(c: Curve, length: int, lost: float, relapse: float) -> bool:
    low, tail = best(c), c.values[-length:]
    level = float(np.median(tail))
    won = max(start(c).value - low.value, 0.0)
    back = float(np.min(tail)) > low.value + lost / 2 * won + 4 * c.noise and level > low.value + lost * won
    return back and level > (1 + relapse) * low.value and level - low.value > 6 * c.noise


def _explodes(c: Curve, first: float) -> bool:
    if len(c) < 2 or first <= 0:
        return False
    tail = c.values[-5:]
    grown = float(np.max(tail)) > EXPLODING * first and float(tail[-1]) > EXPLODING * first / 10
    return grown and (c.first_nonfinite is not None or float(np.min(c.values[-max(2, len(c) // 10) :])) > first)
