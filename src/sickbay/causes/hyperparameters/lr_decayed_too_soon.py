"""The learning rate is brought to nearly zero long before training is done.

## What happens

A schedule meant for epochs is stepped on every batch, or its decay is too steep: after a small part of the run the rate is a hundredth of its
start and less, and the loss stops where it happened to be.

## How we know

The rate falls below a hundredth of its highest value in the first 40 % of the run and stays there, and the loss hardly falls afterwards:
it is still above half of its start, or it was falling fast up to the moment the rate dropped and stood still from then on, or it creeps down to
the very end, many times slower than before (a loss below a tenth of its start only if the rate was gone in the first quarter). A rate of
exactly zero for half of the run and longer needs no curve: those steps cannot change anything. Or the steps that were made until then, laid end to end, are shorter than the weights are large, and three tenths of
the loss are left: no run has learned by then what there is to learn. Or a scheduler that waits for a plateau has no patience, cut the rate by the first noise
between two evaluations while the loss was falling, and brought it to a thousandth before half of the run, where the loss has stood since.

## Looks like it but is not

- Cosine or linear decay to zero at the *end* of the run.
- Cycles and restarts: the rate comes back.
- A loss that was already down when the rate fell; `ReduceLROnPlateau` that has waited for several evaluations.

## Fix

Step the scheduler once per epoch, or stretch the schedule over the whole run; give `ReduceLROnPlateau` a patience of several evaluations.

## References

- https://github.com/pytorch/vision/issues/1261, https://github.com/pytorch/tutorials/issues/640 (per batch instead of per epoch).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from sickbay.causes.evidence import located, strong
from sickbay.causes.impatient import impatient
from sickbay.causes.rates import rate_set_at
from sickbay.causes.registry import cause
from sickbay.causes.unfinished import AS_LARGE
from sickbay.nouns import Evidence, Fix, Place, Series
from sickbay.record.reader import Record
from sickbay.script.scheduled import set_at
from sickbay.signs import Signs
from sickbay.signs.curves import Curve, end, level, start
from sickbay.signs.losses import enough, judged_losses
from sickbay.signs.update_ratio_low import reach

MINIMUM_STEPS = 100
FEW = 30
"""In a log, whose values are means over many steps."""
LOW = 0.01
EARLY = 0.5
"""Of the run. A drop to a tenth after each third reaches a hundredth at two thirds, a cosine at the very end."""
DONE = 0.05
"""What the loss still fell afterwards, as a share of its start."""
HIGH = 0.5
MINIMUM_PHASE = 18
STILL_FALLING = 0.1
"""The loss fell by a tenth from the middle to the end of the time at a high rate: it was on its way down, not done."""
STANDS = 0.1
IDLE = 0.5
"""Half of the run at a rate of exactly zero: a schedule that ends with the run has none or a few such steps."""
WORTH, REMAINS = 0.03, 0.3
"""Steps at the full rate that all steps together are worth, as a share of them: a cosine is worth half, drops to a tenth after each third 0.37, the inverse square root 2 / sqrt(steps), which is a tenth of 400."""
SOLVED = 0.1
SLOWER = 0.2
"""The pace of the loss after the drop, against the pace before it."""
ERRORS = 3.0
VERY_EARLY, WINS = 0.25, 0.03
"""A loss below a tenth of its start may well be done when the rate falls; not if that is in the first quarter of the run, and each third of the rest still wins 3 % of it with a hundredth of the rate."""


@cause(
    code="H404",
    level="hyperparameters",
    title="the learning rate decays too soon",
    why="After a small part of the run the steps are too small to learn anything more; the rest of the training time is lost.",
    explains={"early-plateau", "slow-descent", "flat-loss", "chance-level", "lr-too-low", "update-ratio-low"},
    cure="hold-schedule",
)
def lr_decayed_too_soon(record: Record, signs: Signs) -> Iterator[Evidence]:
    if (cut := impatient(record)) is not None:
        yield cut
        return
    least = enough(record, MINIMUM_STEPS, FEW)
    for series in record.series_like("lr"):
        if (idle := _idle_from(series, least)) is not None and not all(end(c).value < SOLVED * start(c).value for c, _ in judged_losses(record)):
            count = int(series.steps[-1]) - idle + 1
            yield strong(
                f"the learning rate is exactly 0 from step {idle} to the end: the last {count:,} of {int(series.steps[-1]) + 1:,} steps changed nothing"
                f"{located(_built(record), '; scheduler at')}",
                _place(record),
                (idle, int(series.steps[-1])),
                idle=count,
            )
            return
        if (spent := _spent(record, series, least)) is not None:
            yield spent
            return
        step = _died_at(series, least)
        for c, _ in judged_losses(record) if step is not None else ():
            if step is not None and (_stopped_there(c, step, least) or _cut_short(c, series, step, least) or _crawls(c, step, least)):
                top, last = float(np.max(series.values)), float(series.values[-1])
                yield strong(
                    f"the learning rate fell from {top:.3g} to a hundredth of that by step {step} of {c.steps[-1]} (now {last:.2g}), and the loss {'only crept on to' if _crawls(c, step, least) else 'stopped at'} {end(c).value:.4g} "
                    f"(start {start(c).value:.4g}){located(_built(record), '; scheduler at')}",
                    _place(record),
                    (step, int(c.steps[-1])),
                    highest=top,
                    last=last,
                )
                return


def _known(series: Series, least: int) -> bool:
    return len(series) >= least and bool(np.all(np.isfinite(series.values))) and float(np.max(series.values)) > 0


def _spent(record: Record, series: Series, least: int) -> Evidence | None:
    """All steps together, counted by their rates, are a few at the highest one: a decay such as 1 / (1 + t) per step instead of per epoch."""
    if not _known(series, least):
        return None
    top = float(np.max(series.values))
    worth = float(np.sum(series.values)) / top
    curves = [c for c, _ in judged_losses(record) if len(c) >= least and start(c).value > 0]
    if (
        (worth > WORTH * len(series) and not _hardly_moved(record, series, worth, least))
        or not curves
        or not all(end(c).value > REMAINS * float(c.values[0]) for c in curves)
    ):
        return None
    tenth = int(series.steps[np.flatnonzero(series.values > 0.1 * top)[-1]]) + 1
    return strong(
        f"the learning rate fell from {top:.3g} to a tenth of that by step {tenth} of {int(series.steps[-1]) + 1:,} (now {float(series.values[-1]):.2g}): all steps together "
        f"are worth {worth:.2g} at the full rate, and the loss ends at {end(curves[0]).value:.4g} (start {start(curves[0]).value:.4g}){located(_built(record), '; scheduler at')}",
        _place(record),
        (tenth, int(series.steps[-1])),
        highest=top,
        worth=worth,
    )


def _hardly_moved(record: Record, series: Series, worth: float, least: int) -> bool:
    """The rate is gone in the first half of the run, and what was made of it, even if all steps pointed the same way, could not replace the weights once."""
    ratio, _ = reach(record)
    return _died_at(series, least) is not None and 0 < ratio * worth < AS_LARGE


def _died_at(series: Series, least: int) -> int | None:
    """The step from which the rate is below a hundredth of its highest, if that lies in the first half."""
    if not _known(series, least):
        return None
    alive = np.flatnonzero(series.values > 1.001 * LOW * np.max(series.values))  # two drops to a tenth are a hundredth, but for rounding
    at = int(alive[-1]) + 1
    return int(series.steps[at]) if at < EARLY * len(series) else None


def _idle_from(series: Series, least: int) -> int | None:
    """The step from which the rate is exactly zero to the end, if that is half of the run and it was not so from the start."""
    if not _known(series, least):
        return None
    alive = np.flatnonzero(series.values != 0)
    at = int(alive[-1]) + 1 if len(alive) else 0
    return int(series.steps[at]) if 0 < at <= IDLE * len(series) else None


def _stopped_there(c: Curve, step: int, least: int) -> bool:
    then, first, last = c.values[c.steps >= step], start(c).value, end(c).value
    if len(c) < least or len(then) < least // 2 or first <= 0:
        return False
    at_death = level(then[: max(5, len(then) // 20)], c.noise).value
    return last > HIGH * first and at_death - last < DONE * first


def _cut_short(c: Curve, rates: Series, died: int, least: int) -> bool:
    """The loss fell fast while the rate was high, and stood still once it was gone, well above what is solved."""
    high = rates.steps[rates.values > HIGH * np.max(rates.values)]
    phase = c.values[(c.steps >= high[0]) & (c.steps <= high[-1])]
    rest, first = c.values[c.steps >= died], start(c).value
    if len(phase) < min(MINIMUM_PHASE, least // 2) or len(rest) < least // 2 or first <= 0:
        return False
    middle, last = float(np.median(phase[len(phase) // 3 : len(phase) // 2])), float(np.median(phase[-max(3, len(phase) // 6) :]))
    standing, final = float(np.median(rest[: max(5, len(rest) // 10)])), end(c).value
    was_falling = middle - last > max(STILL_FALLING * middle, 2 * c.noise / np.sqrt(max(3, len(phase) // 6)))
    return bool(was_falling and standing - final < STANDS * standing and final > SOLVED * first)


def _crawls(c: Curve, died: int, least: int) -> bool:
    """With next to no rate left, the loss still falls to the very end, many times slower than before: it was not done."""
    before, rest = c.values[c.steps < died], c.values[c.steps >= died]
    if len(rest) < least // 2 or len(before) < MINIMUM_PHASE:
        return False
    low = end(c).value < SOLVED * start(c).value
    if low and len(before) > VERY_EARLY * len(c):
        return False
    thirds = [level(part, c.noise) for part in np.array_split(rest, 3)]
    falls = [a.value - b.value > max(ERRORS * math.hypot(a.error, b.error), WINS * a.value * low) for a, b in pairwise(thirds)]
    pace = (thirds[0].value - thirds[-1].value) / (2 / 3 * len(rest))
    return all(falls) and pace < SLOWER * (start(c).value - thirds[0].value) / len(before)


def _place(record: Record) -> Place | None:
    """Where the schedule's numbers stand."""
    built = _built(record)
    return set_at(record, built) or built


def _built(record: Record) -> Place | None:
    """Where the schedule is built, or the script sets its rate itself."""
    built = [s.built_at for s in record.facts.schedulers if s.built_at is not None and s.steps]
    return built[0] if built else record.facts.timeline.places.get("scheduler") or rate_set_at(record)


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    if any("patience" in e.numbers for e in evidence):
        return Fix(
            "give the scheduler a patience of several evaluations (5 to 10): a single one without a new best is noise",
            "ReduceLROnPlateau(optimizer, factor=0.5, patience=6)",
            "advice",
        )
    return Fix(
        "step the scheduler once per epoch, or stretch its schedule over all steps of the run",
        "scheduler.step()  # after the loop over batches, once per epoch",
        "advice",
    )
