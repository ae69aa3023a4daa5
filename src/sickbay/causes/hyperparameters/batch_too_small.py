"""Batches are so small that chance decides where each step goes.

## What happens

The gradient of one or two samples points somewhere between what all samples have in common and what is peculiar to these. With a learning rate that
suits ordinary batches the second part wins: each step undoes the one before, the loss jumps from batch to batch, and its level wanders up and
down instead of falling.

## How we know

Every step is made from four samples or fewer, of a training set that is a hundred times larger. The loss differs from batch to batch by a
third of its level and more, and over the second half of the run that level no longer falls, though it is above six tenths of its start (or above
0.35 of it, where validation jumps about too). Or it is above a fifth of it, and validation, which is always measured on the same samples, neither falls any more nor stands: it wanders
by more than 4.5 % of its level from one evaluation to the next, as only weights that are thrown about make it. The learning rate is one that ordinary batches bear, and nothing more fundamental explains it. Without validation thousands of steps that
have won nothing tell as much. Nor does a classifier that stays at guessing have to swing: if the first steps changed its weights by several thousandths each, at the chance of single samples, and later ones not at all, they have
killed its units. What a curve cannot show is whether larger batches help: a trial that accumulates gradients decides.

## Looks like it but is not

- Batches of one sample with a loss that falls: many small models and long sequences are trained so.
- Gradients accumulated over several backward passes: the step is made from all of them.
- A noisy loss at its floor: it has fallen.
- A rate that is too high for any batch (`lr-too-high`); batch norm over a few samples (`batchnorm-tiny-batch`).

## Fix

Larger batches (16 to 128), or gradients accumulated over several of them; where memory allows neither, a learning rate that is smaller by as much.

## References

- McCandlish et al. 2018, An empirical model of large-batch training (gradient noise scale).
- Smith et al. 2018, Don't decay the learning rate, increase the batch size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from sickbay.causes.adaptive import rescales
from sickbay.causes.evidence import hint, strong
from sickbay.causes.rates import main_optimizer, rate
from sickbay.causes.registry import cause
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import mend, number, source_at
from sickbay.script.guesses import guess
from sickbay.script.written import Written, changed, place_of, written
from sickbay.signs import Signs
from sickbay.signs.curves import Curve, curve, noise
from sickbay.signs.layers import nanmedian, weights
from sickbay.signs.losses import judged_losses

MOST_ROWS = 4
TIMES = 100
MINIMUM_STEPS = 200
NOISY = 0.33
HIGH = 0.6
"""A run at its floor is below this, also with noisy labels (ward: 0.1 to 0.5 with batches of ordinary size)."""
HIGH_AND_JUMPING = 0.35
"""...or above this, where validation, which is measured on many samples, jumps from one evaluation to the next as well."""
HIGH_AND_WANDERING = 0.2
WANDERS = 0.045
"""What is left of the second half of the validation losses beside their straight line, as a share of their level: 4.8 to 6.8 % in three patients of the ward with one or two samples per step, a third of
that in their twins with 48 and 64 samples and in online learning at a small rate. Of 48 small trainings with one to four samples per step whose level stands, those below it won nothing with a third of the rate."""
EVALUATIONS = 8
UNITS_AT_START = 0.5
"""Share of a layer's units that were dead or at their rails before the first update: no step has brought them there."""
NOTHING_WON = 0.85
"""The level of a loss that thousands of steps have not brought down: no online learning that works looks like this."""
MANY_STEPS = 3000
FALLS = 3.0
"""Standard errors of a line's fall."""
STANDS, HARDLY_FALLS = 0.1, 0.3
"""Of the level: what a training loss that stands may still lose in the second half of the run; and where validation wanders by three times WANDERS. What is won there is lost again from one evaluation to the next."""
WILDLY = 3 * WANDERS
USUAL_RATE = {True: 2e-2, False: 0.2}
"""Highest rates in common use with ordinary batches: of optimizers that rescale gradients (Adam), and of others (SGD)."""
BOLD, GONE = 5e-3, 1e-3
"""Several times the healthy size of a step (a thousandth of the weights); and a thousandth of that, which is what is left when no gradient comes back."""
LARGER = 32
NAMES = ("batch_size", "batch", "bs", "BATCH_SIZE", "BATCH", "batchsize", "train_batch_size", "per_device_train_batch_size", "mb_size", "n_batch")


@cause(
    code="H413",
    level="hyperparameters",
    title="the batches are too small",
    why="Each step follows the chance of a few samples instead of what all have in common, so that steps undo each other.",
    explains={
        "oscillating-loss", "loss-spikes", "gradient-spike", "early-plateau", "slow-descent", "flat-loss", "chance-level", "val-rising", "lr-too-high", "diverging-loss", "dead-units", "dead-relu",
        "saturated-units", "saturated-activation", "raised-loss", "val-noisy",
    },
    cure="accumulate",
)  # fmt: skip
def batch_too_small(record: Record, signs: Signs) -> Iterator[Evidence]:
    rows, lr = _rows(record), rate(record)
    samples = max((x.samples or 0 for x in record.facts.loaders if x.role == "train"), default=0) or record.facts.batches.distinct * (rows or 0)
    usual = lr is not None and lr <= USUAL_RATE[rescales(main_optimizer(record))]
    if (
        rows is None
        or rows > MOST_ROWS
        or samples < TIMES * rows
        or not usual
        or _accumulates(record)
        or signs.has("nonfinite-loss", "update-ratio-low")
        or any(s.numbers["at_start"] > UNITS_AT_START for s in signs.named("saturated-units", "dead-units"))
    ):
        return
    wanders = [*_wandering(record)]
    if signs.has("update-ratio-high") and not wanders:
        return
    if died := _died(record, signs):
        yield strong(
            f"each step is made from {'one sample' if rows == 1 else f'{rows} samples'}: {died}",
            place_of(_written(record, rows)) or _loader(record) or _fed_at(record, rows),
            rows=rows,
        )
        yield hint(f"the learning rate of {number(lr or 0.0)} is one that ordinary batches bear")
        return
    for c, _ in judged_losses(record):
        jumps = wanders or [*_validation(record)]
        falls = HARDLY_FALLS if any(w.numbers["around"] > WILDLY for w in wanders) else STANDS
        stands = _stands(c, HIGH_AND_WANDERING if wanders else HIGH_AND_JUMPING if jumps else HIGH, falls) if len(c) >= MINIMUM_STEPS else None
        if stands is None:
            continue
        last, spread = stands
        # One sample at a time can work well (online learning): only where evaluation, on many samples, jumps too, or nothing was won, is it more than a possibility.
        say = strong if jumps or (last > NOTHING_WON * _begin(c) and len(c) >= MANY_STEPS) else hint
        yield say(
            f"each step is made from {'one sample' if rows == 1 else f'{rows} samples'}: the loss differs by {spread:.2g} from batch to batch around {last:.3g}, "
            f"and {'hardly falls' if falls > STANDS else 'does not fall'} any more (it began at {_begin(c):.3g})",
            place_of(_written(record, rows)) or _loader(record) or _fed_at(record, rows),
            (int(c.steps[len(c) // 2]), int(c.steps[-1])),
            rows=rows,
            spread=spread,
        )
        yield hint(f"the learning rate of {number(lr or 0.0)} is one that ordinary batches bear")
        yield from jumps
        return


def _rows(record: Record) -> int | None:
    """Samples in a training step."""
    heads = [h.target_shape[0] for loss in record.facts.losses for h in loss.heads if h.target_shape]
    sizes = [x.batch_size for x in record.facts.loaders if x.role == "train" and x.batch_size]
    labelled = record.facts.labels.batch_size if record.facts.labels is not None else 0.0
    found = [*sizes, *heads] if sizes or heads else ([round(labelled)] if labelled >= 1 else [])
    return max(found) if found else None


def _accumulates(record: Record) -> bool:
    return any(a.backwards > 1 for a in record.facts.accumulations)


def _stands(c: Curve, high: float, falls: float) -> tuple[float, float] | None:
    """Mean and spread of the second half, if it neither falls by that share of its level nor is low or quiet."""
    half = c.values[len(c) // 2 :]
    parts = [float(np.mean(p)) for p in np.array_split(half, 4)]
    last, spread = float(np.mean(half)), float(np.std(half))
    error = spread * math.sqrt(8 / len(half))  # of the difference of two quarters
    stands = last > high * _begin(c) and spread > NOISY * last and parts[0] - parts[-1] < max(falls * last, 2 * error)
    return (last, spread) if stands else None


def _died(record: Record, signs: Signs) -> str:
    """The classifier guesses from the first step to the last, and its updates, large at first, have gone: steps at the chance of a few samples have killed its units."""
    sizes = weights(record, record.family("update_ratio"))
    guesses = next((s for s in signs.named("chance-level") if s.where in {f.where for f in signs.named("flat-loss")}), None)
    if guesses is None or len(sizes.steps) < 6 or not sizes.parameters or record.facts.run.steps < MINIMUM_STEPS:
        return ""
    typical = nanmedian(sizes.values, axis=1)
    early, late = float(np.nanmax(typical[: len(typical) // 2])), float(np.nanmin(typical[-2:]))
    if not (early > BOLD and late < GONE * early):
        return ""
    return f"steps changed the weights by up to {early:.2g} of their size each, as chance had it, and now by {late:.1g}: hardly a unit is alive, and {guesses.text}"


def _begin(c: Curve) -> float:
    """The first losses of single samples differ widely: their mean over the first fiftieth."""
    return float(np.mean(c.values[: max(10, len(c) // 50)]))


def _validation(record: Record) -> Iterator[Evidence]:
    for series in record.series_like("loss/eval"):
        c = curve(series)
        if len(c) >= 4 and noise(c.values) > NOISY / 3 * float(np.median(c.values)):
            yield hint(f"validation loss jumps by {noise(c.values):.2g} from one evaluation to the next, around {float(np.median(c.values)):.3g}")
            return


def _wandering(record: Record) -> Iterator[Evidence]:
    """Validation that no longer falls and does not stand either."""
    for series in record.series_like("loss/eval"):
        c = curve(series)
        half = c.values[len(c) // 2 :]
        if len(c) < EVALUATIONS or c.nonfinite or float(np.min(half)) <= 0:
            continue
        t = np.linspace(-0.5, 0.5, len(half))
        slope, middle = np.polyfit(t, half, 1)
        around = float(np.std(half - slope * t - middle, ddof=2))
        if around > WANDERS * middle and -slope < FALLS * around * math.sqrt(12 / len(half)):
            yield hint(
                f"validation loss, always on the same samples, wanders by {around:.2g} around {middle:.3g} and does not fall any more",
                around=around / middle,
            )
            return


def _loader(record: Record) -> Place | None:
    """A loader that is built without a size makes batches of one."""
    return next((x.built_at for x in record.facts.loaders if x.role == "train" and x.batch_size == 1), None)


@guess
def _fed_at(record: Record, rows: int) -> Place | None:
    """The loop that hands over one sample after the other, where no number says so: `for x, y in train_set`."""
    forward = record.facts.timeline.places.get("forward")
    source = source_at(record, forward)
    statement = source.statement(forward.line) if source is not None and forward is not None else None
    loops = source.loops(statement) if source is not None and statement is not None else []
    return replace(source.place(loops[0].lineno), guess=True) if source is not None and loops and rows == 1 else None


def _written(record: Record, rows: int) -> Written | None:
    return written(record, rows, NAMES)


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    rows = next((int(e.numbers["rows"]) for e in evidence if "rows" in e.numbers), 1)
    return mend(
        "use larger batches (16 to 128), or accumulate the gradients of several before each step",
        changed(_written(record, rows), str(LARGER)),
        f"DataLoader(..., batch_size={LARGER}, shuffle=True)",
        "consent",
    )
