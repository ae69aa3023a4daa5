"""The learning rate is too high.

## What happens

Steps overshoot: instead of going down a slope they jump across it, further up each time (divergence), or back and forth (oscillation), or so
far in the first steps that units die and nothing can be learned afterwards.

## How we know

The loss diverges, swings, or never gets below its start, and single steps change the weights by a tenth of their size or more (about
a thousandth is healthy). Or: loss and gradients grow by orders of magnitude until they are not finite, from finite inputs. Or: the
loss came down at one rate, and at a multiple of it (fine-tuning) has gone up again and stands. Or: the first steps replaced the
weights, which grew severalfold, and validation swings from one evaluation to the next to the end, or the training loss wanders up again, or stands high from early on. Or: the
loss had come down, was thrown back to guessing and stays there, with weights that have grown severalfold, or has hardly come down while they grew. Or: single steps of Adam's were twice as
large as the weights themselves, which are ten times as large for it, and much of the loss is left. Or: one step replaced the
weights, the loss rose a thousandfold, and the script broke (on values that are not between 0 and 1, say). A trial with a tenth of the rate decides.

## Looks like it but is not

- Non-finite or unscaled data, gradients that are never cleared: those are found directly, and explain this.
- Adversarial and reinforcement losses rise and swing in healthy runs: their curves are not judged.
- A loss that is NaN at once, or suddenly, from a good level: an operation, not a step size.
- A dead layer at step 0.
- Large first steps of a single linear layer, which finds its way back from anywhere, or of weights that begin near zero.

## Fix

A tenth of the rate; for transformers and Adam also a warm-up.

## References

- Goodfellow, Bengio, Courville 2016, section 11.4.1 ("the learning rate is perhaps the most important hyperparameter").
- Smith 2017 (learning-rate range test); Cohen et al. 2021 (edge of stability).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from sickbay.causes.adaptive import rescales
from sickbay.causes.crashes import crash_of
from sickbay.causes.dropouts import drowned
from sickbay.causes.evidence import against, from_sign, hint, strong
from sickbay.causes.nonfinite import weights_ran_away
from sickbay.causes.rates import main_optimizer, rate, rate_place, scaled
from sickbay.causes.registry import cause
from sickbay.causes.stuck import stuck
from sickbay.facts import Parameter
from sickbay.nouns import Evidence, Fix, Sign
from sickbay.record.reader import Record
from sickbay.script.fixing import number
from sickbay.signs import Signs
from sickbay.signs.curves import Curve, curve, end, start, trend_share
from sickbay.signs.layers import nanmedian, weights
from sickbay.signs.losses import judged_losses, supervised, training_losses

GROWTH = 100.0
"""Loss or gradient norm grew a hundredfold before it was not finite."""
FIRST_STEPS = 20
OVERSHOOT = 1.5
NOT_RECOVERED = 0.5
"""A healthy run at a bold rate may jump at first too, but is below half of its start at the end."""
THROWN = 20.0
"""Times the untrained model's loss: in 104 healthy runs of the ward the first twenty steps cost at most three times it."""
MULTIPLE, PHASE = 5.0, 40
"""A rate that is raised fivefold at once, forty steps before it and after it: warm-up is over by then."""
LEARNED, LOST, NOT_FALLING = 0.6, 1.5, 0.95
"""The loss had come down to six tenths, is half as high again as that, and no lower than half of the steps since: warm restarts fall again."""
BROKE = 1000.0
"""Times the first loss, before the script broke."""
REPLACED, GROWN = 0.3, 3.0
"""Single steps of three tenths of the weights' size replace what they began with, and the weights are three times as large for it: no healthy run of 150 shows both."""
RESTLESS, FEWEST, DONE = 0.15, 5, 0.1
"""Validation swings by 15 % of its level beside its line in the last half (five evaluations at least), the line falls by less than that, and training is done falling."""
SOLVED = 0.005
"""Of the first training loss: below half a per cent of it, swings do not matter."""
STRETCHES, LONG, ERRORS, RISES = 12, 240, 5.0, 0.03
"""...or training, in the mean over twelve stretches of at least fifteen steps, rises by 3 % and five standard errors, and stays above: a run that learns does not end above where it was."""
HIGH, HARDLY_WON = 0.25, 0.93
"""...or stands, of optimizers whose steps are as large as the rate says at any time (Adam; the first gradients of SGD are larger than all that follow): a quarter of the first loss is left, and the last quarter of the run lies less than 7 % below the second. At rates up to ten times a good one the same nets come below a tenth, or win on."""
STRETCH, BELOW_GUESSING, SURELY = 10, 0.9, 4.0
"""Means over a fortieth of the run (ten steps at least): one that is a tenth below guessing, by four standard errors, has learned something."""
FAR_GROWN, FRAMES, UNSETTLED, IN_VAIN = 5.0, 6, 1e-2, 0.6
"""Times their first size; observed steps; ten times the healthy size of a step, in the last third of them; and six tenths of the first loss. Of optimizers that follow the gradient's size (SGD): their weights grow with what is learned. In
a grid of ten tasks those that grew fivefold at rates that were not too high ended below a tenth of the first loss; Adam's weights grow with its rate, and language models keep much of their loss."""
TWICE, TENFOLD = 2.0, 10.0
"""Steps of twice the weights' size leave nothing of what they began with, and weights of ten times their size saturate what they feed. In a grid of eight kinds of nets (deep and recurrent ones, with and without
normalisation, at constant rates and with a cosine to zero) all runs with both, and with a tenth of the first loss left, ended at least a quarter above what a lower rate gave; no healthy run of 250 shows both."""
BEGUN_FULL = 0.2
"""Of the size that keeps a signal's scale, 1 / sqrt(inputs): a third of PyTorch's own default. Weights that begin smaller have to grow."""
VANISHED = 0.2
"""Of their first size. Steps that are too large make weights larger."""
STILL_HIGH = 0.05
"""Late updates of a twentieth of the weights per step: the weights never settle."""


@cause(
    code="H401",
    level="hyperparameters",
    title="the learning rate is too high",
    why="Steps overshoot the minimum, so the loss climbs, swings or freezes instead of falling.",
    explains={
        "diverging-loss", "raised-loss", "oscillating-loss", "loss-spikes", "gradient-spike", "nonfinite-loss", "nonfinite-gradient", "nonfinite-weight", "update-ratio-high", "flat-loss",
        "early-plateau", "chance-level", "dead-units", "saturated-units", "val-flat-from-start", "val-rising", "gradient-growth-with-depth", "gradient-decay-with-depth",
        "small-gradients", "dead-relu", "vanishing-gradient", "slow-descent", "overfitting", "activation-growth", "activation-collapse", "weight-drift", "val-noisy", "class-imbalance",
        "majority-level",
    },
    cure="lr=x0.1",
)  # fmt: skip
def lr_too_high(record: Record, signs: Signs) -> Iterator[Evidence]:
    ledger = [*_divergence(record, signs), *_large_updates(record, signs)]
    if not ledger and (raised := _raised(record)):
        yield strong(raised, rate_place(record))
        return
    if not ledger and (thrown := _thrown_back(record, signs) or _restless(record, signs) or _grown_in_vain(record) or _blown_up(record)):
        ledger = [strong(thrown, rate_place(record))]
    if not ledger and record.facts.log is not None:
        ledger = [*_in_a_log(signs)]
    if not ledger:
        return
    yield from ledger
    optimizer, lr = main_optimizer(record), rate(record)
    if lr is not None and optimizer is not None:
        yield hint(f"the learning rate is {number(lr)} ({optimizer.kind})", rate_place(record), lr=lr)
    if any(s.numbers["at_start"] > 0.9 for s in signs.named("dead-units")):
        yield against("a layer was dead before the first update")


def _divergence(record: Record, signs: Signs) -> Iterator[Evidence]:
    place = rate_place(record)
    for sign in signs.named("diverging-loss")[:1]:
        yield from_sign("strong", sign, place)
    for sign in signs.named("oscillating-loss")[:1]:
        yield from_sign("strong" if signs.has("update-ratio-high") else "hint", sign, place)
    if not signs.has("diverging-loss") and (grown := _grew_to_nonfinite(record, signs) or weights_ran_away(record)):
        yield strong(grown, place)
    elif broke := _broke_at_once(record):
        yield strong(broke, place, crash=1.0)


def _broke_at_once(record: Record) -> str:
    """The script died within its first steps, after one of them had replaced the weights and thrown the loss up by orders of magnitude."""
    sizes = weights(record, record.family("update_ratio"))
    peak = float(np.nanmax(nanmedian(sizes.values, axis=1), initial=0.0)) if len(sizes.steps) and sizes.parameters else 0.0
    if crash_of(record) is None or not peak > REPLACED:
        return ""
    for c, _ in judged_losses(record):
        first, last = (float(c.values[0]), float(np.max(c.values[1:]))) if len(c) > 1 else (0.0, 0.0)
        if len(c) <= FIRST_STEPS and 0 < BROKE * first < last:
            return f"a single step changed the weights by {peak:.2g} times their size; the loss went from {first:.3g} to {last:.3g}, and then the script broke"
    return ""


def _in_a_log(signs: Signs) -> Iterator[Evidence]:
    """What steps that are too large often look like in curves, and other things too."""
    for sign in signs.named("loss-spikes", "nonfinite-loss", "nonfinite-gradient")[:1]:
        yield from_sign("hint", sign)


def _large_updates(record: Record, signs: Signs) -> Iterator[Evidence]:
    trouble = stuck(signs)
    for sign in signs.named("update-ratio-high")[:1] if not _vanished(record) else ():
        if sign.numbers["late"] < STILL_HIGH and drowned(record):
            continue  # the few units that dropout leaves count many times, and so do their gradients: the first steps are large at any usual rate
        if trouble is not None or signs.has("oscillating-loss", "nonfinite-loss"):
            yield from_sign("strong", sign, rate_place(record))
        elif overshot := _overshot(record):
            yield from_sign("strong", sign, rate_place(record))
            yield hint(overshot)
        elif sign.numbers["late"] > STILL_HIGH and (plateau := _plateau(signs)) is not None:
            yield from_sign("strong", sign, rate_place(record))
            yield from_sign("hint", plateau)
        else:
            continue
        if trouble is not None and trouble.name != "diverging-loss":
            yield from_sign("hint", trouble)


def _overshot(record: Record) -> str:
    """The first updates threw the loss up, and the run never made that good; or they threw it up so far that no bold rate is meant to."""
    for c, loss in judged_losses(record):
        first, peak, last = float(c.values[0]), float(np.max(c.values[1:FIRST_STEPS], initial=0.0)), end(c).value
        thrown = peak > THROWN * first and supervised(loss)
        if len(c) > FIRST_STEPS and first > 0 and peak > OVERSHOOT * first + 3 * c.noise and (last > NOT_RECOVERED * first or thrown):
            return f"the loss jumped from {first:.3g} to {peak:.3g} within {FIRST_STEPS} steps and ends at {last:.3g}"
    return ""


def _raised(record: Record) -> str:
    """The same weights learned at a rate, and learn no more at a multiple of it: fine-tuning that destroys what was trained."""
    series = [s for s in record.series_like("lr") if len(s)]
    steps, rates = np.concatenate([[0], *(s.steps for s in series)]), np.concatenate([[0.0], *(s.values for s in series)])
    if len(np.unique(steps[1:])) < len(steps) - 1:
        return ""  # optimizers that step in turn
    order = np.argsort(steps[1:], kind="stable") + 1
    steps, rates = steps[order], rates[order]
    jumps = np.flatnonzero((rates[:-1] > 0) & (rates[1:] > MULTIPLE * rates[:-1])) + 1
    for c, loss in judged_losses(record) if len(jumps) else ():
        at = int(steps[jumps[-1]])
        before, after = (replace(c, steps=c.steps[part], values=c.values[part]) for part in (c.steps < at, c.steps >= at))
        if min(len(before), len(after)) < PHASE or not supervised(loss):
            continue
        first, learned, now = start(before).value, end(before).value, end(after).value
        if 0 < learned < LEARNED * first and now > LOST * learned and now > NOT_FALLING * float(np.median(after.values)):
            low, high = float(rates[jumps[-1] - 1]), float(rates[jumps[-1]])
            return (
                f"at a learning rate of {number(low)} the loss fell from {first:.3g} to {learned:.3g}; since step {at}, at {number(high)} "
                f"({high / low:.3g} times as high), it has gone to {now:.3g} and stands there"
            )
    return ""


def _restless(record: Record, signs: Signs) -> str:
    """The first steps replaced the weights, which have grown by them, and validation, always on the same samples, swings to the end: too large a step is never small beside the minimum."""
    grown = _grown(record)
    replaced = [s for s in signs.named("update-ratio-high") if s.numbers["peak"] > REPLACED]
    if not replaced or grown < GROWN or not all(supervised(loss) for _, loss in judged_losses(record)):
        return ""
    told = (
        f"the first steps changed the weights by up to {replaced[0].numbers['peak']:.2g} of their size each and made them {grown:.2g} times as large"
    )
    for c, _ in judged_losses(record) if rescales(main_optimizer(record)) else ():
        if (stands := _stands_high(c)) is not None:
            return f"{told}; the loss was {stands[0]:.3g} in the second quarter of the run and is {stands[1]:.3g} in the last (it began at {float(c.values[0]):.3g})"
    if any(trend_share(c) > DONE for c, _ in judged_losses(record)):
        return ""
    first = max((float(c.values[0]) for c, _ in judged_losses(record)), default=0.0)
    for c in (curve(s) for s in record.series_like("loss/eval")):
        swing, middle = _swing(c)
        if swing > RESTLESS * middle and middle > SOLVED * first:
            return f"{told}; since then validation loss, always on the same samples, swings by {swing:.2g} around {middle:.3g} from one evaluation to the next and does not fall"
    for c, _ in judged_losses(record):
        if (wandered := _wandered(c)) is not None:
            length = len(c) // (STRETCHES + STRETCHES // 3)
            return f"{told}; the loss, in the mean over {length} steps, has been at {wandered[0]:.3g}, has gone up to {wandered[1]:.3g} since and not come back"
    return ""


def _grown(record: Record) -> float:
    """How many times as large the weights of the typical layer have become; 0 where that was not seen."""
    sizes = weights(record, record.family("weight_norm"))
    typical = nanmedian(sizes.values / sizes.values[:1], axis=1) if len(sizes.steps) and sizes.parameters else np.zeros(0)
    return float(np.nanmax(typical)) if len(typical) and np.isfinite(typical).any() else 0.0


def _grown_in_vain(record: Record) -> str:
    """The weights have grown severalfold and steps still change them by a hundredth each, and most of the first loss is there: what makes weights large in a healthy run is what it has learned."""
    updates, grown = weights(record, record.family("update_ratio")), _grown(record)
    if grown < FAR_GROWN or rescales(main_optimizer(record)) or len(updates.steps) < FRAMES or not updates.parameters or _vanished(record):
        return ""
    typical = nanmedian(updates.values, axis=1)
    late = float(nanmedian(typical[None, -(len(typical) // 3) :], axis=1)[0])
    for c, loss in judged_losses(record):
        if len(c) >= LONG and c.nonfinite == 0 and supervised(loss) and late > UNSETTLED and end(c).value > IN_VAIN * start(c).value:
            return (
                f"the weights of the typical layer have grown to {grown:.2g} times their size, and late steps still change them by {late:.1g} of it each (healthy: about 1e-3), while the loss, {start(c).value:.3g} at "
                f"the start, is {end(c).value:.3g} at the end"
            )
    return ""


def _blown_up(record: Record) -> str:
    """Single steps were larger than the weights of the typical layer, of several; they have grown tenfold by them, and training has not made that good."""
    updates, grown = weights(record, record.family("update_ratio")), _grown(record)
    if grown < TENFOLD or len(updates.parameters) < 2 or not rescales(main_optimizer(record)) or _begun_small(updates.parameters):
        return ""
    peak = float(np.nanmax(nanmedian(updates.values, axis=1), initial=0.0))
    for c, loss in judged_losses(record) if peak > TWICE else ():
        first, last = float(c.values[0]), end(c).value
        if len(c) >= LONG and c.nonfinite == 0 and supervised(loss) and last > DONE * first:
            return (
                f"single steps changed the weights by up to {peak:.2g} times their own size, so that nothing is left of what they began with, and made them {grown:.2g} times as large; "
                f"the loss, {first:.3g} at first, is still {last:.3g} at the end"
            )
    return ""


def _begun_small(parameters: Sequence[Parameter]) -> bool:
    """The typical layer's weights started near zero: any step is large beside them."""
    sizes = [p.initial_std * math.sqrt(math.prod(p.shape[1:])) for p in parameters if p.initial_std is not None]
    return bool(sizes) and float(np.median(sizes)) < BEGUN_FULL


def _vanished(record: Record) -> bool:
    """The weights of the typical layer have shrunk to nearly nothing (a decay does that): then any step is large beside them."""
    sizes = weights(record, record.family("weight_norm"))
    typical = nanmedian(sizes.values / sizes.values[:1], axis=1) if len(sizes.steps) and sizes.parameters else np.ones(1)
    return bool(typical[-1] < VANISHED)


def _thrown_back(record: Record, signs: Signs) -> str:
    """A classifier that had left guessing behind and is back at it for the last part of the run, with weights that have grown severalfold: its units died or are pushed to their limits."""
    grown = _grown(record)
    for sign in signs.named("chance-level") if grown > GROWN else ():
        c = next((c for c, loss in judged_losses(record) if c.name == sign.where and supervised(loss)), None)
        width = max(STRETCH, len(c) // 40) if c is not None else 0
        if c is None or len(c) < 4 * width or c.nonfinite:
            continue
        levels = [float(np.mean(part)) for part in np.array_split(c.values, len(c) // width)]
        low = int(np.argmin(levels))
        if (
            levels[low] < min(BELOW_GUESSING * sign.numbers["chance"], sign.numbers["chance"] - SURELY * c.noise / math.sqrt(width))
            and low < len(levels) - 2
        ):
            return (
                f"the loss had come down to {levels[low]:.3g} (mean of {width} steps around step {int(c.steps[min(len(c) - 1, low * width + width // 2)])}), was thrown back to guessing and stays there "
                f"({sign.numbers['end']:.3g}; guessing gives {sign.numbers['chance']:.3g}); the weights of the typical layer have grown to {grown:.2g} times their size"
            )
    return ""


def _stands_high(c: Curve) -> tuple[float, float] | None:
    """The level after a quarter of the run and at its end, where most of the first loss is left and next to nothing of it was won in between."""
    if len(c) < LONG or c.nonfinite:
        return None
    quarters = [float(np.mean(part)) for part in np.array_split(c.values, 4)]
    stands = quarters[-1] > HIGH * float(c.values[0]) and quarters[-1] > HARDLY_WON * quarters[1]
    return (quarters[1], quarters[-1]) if stands else None


def _wandered(c: Curve) -> tuple[float, float] | None:
    """The lowest stretch of the run's last three quarters, and the highest after it, where the loss has clearly gone up and not come back."""
    if len(c) < LONG or c.nonfinite:
        return None
    parts = np.array_split(c.values[len(c) // 4 :], STRETCHES)
    level = np.array([p.mean() for p in parts])
    error = np.array([p.std() / np.sqrt(len(p)) for p in parts])
    low = int(np.argmin(level[:-2]))
    high = low + int(np.argmax(level[low:]))
    sure = ERRORS * float(np.hypot(error[low], error[high]))
    clear = level[low] > 0 and level[high] - level[low] > max(RISES * level[low], sure) and level[-2:].min() > level[low] + error[low]
    return (float(level[low]), float(level[high])) if clear else None


def _swing(c: Curve) -> tuple[float, float]:
    """What is left of the second half of a validation curve beside its straight line, and its level; no swing where it still falls."""
    half = c.values[len(c) // 2 :]
    if len(half) < FEWEST or c.nonfinite or float(np.min(half)) <= 0:
        return 0.0, 1.0
    t = np.linspace(-0.5, 0.5, len(half))
    slope, middle = np.polyfit(t, half, 1)
    around = float(np.std(half - slope * t - middle, ddof=2))
    return (around if -slope < around else 0.0), float(middle)


def _plateau(signs: Signs) -> Sign | None:
    return next(iter(signs.named("early-plateau")), None)


def _grew_to_nonfinite(record: Record, signs: Signs) -> str:
    """Growth before the first NaN, of the loss or of the gradients: a sudden NaN from a good level has another cause."""
    first = min((s.steps[0] for s in signs.named("nonfinite-loss")), default=None)
    if first is None:
        return ""
    for c, _ in training_losses(record):
        before = np.abs(c.values[c.steps < first])
        if len(before) >= 2 and before[0] > 0 and before[-1] > GROWTH * before[0]:
            return f"the loss grew from {before[0]:.3g} to {before[-1]:.3g} before it was not finite at step {first}"
    for series in record.series_like("grad_norm"):
        norms = series.values[(series.steps < first) & np.isfinite(series.values)]
        if len(norms) >= 3 and np.median(norms[:3]) > 0 and norms[-1] > GROWTH * np.median(norms[:3]) and norms[-1] > 100:
            return f"the gradient norm grew from {np.median(norms[:3]):.3g} to {norms[-1]:.3g} before the loss was not finite at step {first}"
    return ""


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    return scaled(record, 0.1, "try a tenth of the learning rate")
