"""The learning rate is too low.

## What happens

Every step is right and far too short. The loss falls in a straight line that would need ten or a thousand times as many steps, or seems not to
fall at all.

## How we know

The loss creeps or stands still, and a step changes the weights by so little that the whole run, even if all its steps pointed the same way,
could change them by a fifth at most. Gradients are not small themselves. A trial with ten times the rate decides.

Or the steps are small (below a thousandth of the weights), all of them together could not replace the weights once, and the loss, of which a good part is left, falls to the very end: the last quarter
of the run still wins some per cent. In runs of ten tasks at rates from a thousandth to a hundred times a good one, those that had learned what there was to learn and no longer fell had, with few exceptions, steps for more than the weights' size.

## Looks like it but is not

- Fine-tuning of loaded weights: small steps are right there.
- A run of a few dozen steps of a healthy size: it is too short.
- A plateau at the noise floor, a loss with a floor (label smoothing): it has fallen and levelled off.
- A rate that a schedule brought to zero at the end, or a warm-up at the start: the liveliest part of the run counts.
- Vanishing gradients, parameters that are cut off or not in the optimizer: found by themselves.

## Fix

Ten times the rate, or a range test. Usual starting points: Adam 1e-3, SGD with momentum 1e-2 to 1e-1.

## References

- Karpathy, CS231n: ratio of updates to weights about 1e-3. Smith 2017 (range test).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sickbay.causes.evidence import against, from_sign, hint, strong
from sickbay.causes.parameters import mostly_loaded
from sickbay.causes.rates import main_optimizer, rate, rate_place, scaled
from sickbay.causes.registry import cause
from sickbay.causes.unfinished import AS_LARGE, HEALTHY, unfinished
from sickbay.nouns import Evidence, Fix, Sign
from sickbay.record.reader import Record
from sickbay.script.fixing import number
from sickbay.signs import Signs
from sickbay.signs.curves import end, start
from sickbay.signs.losses import judged_losses
from sickbay.signs.update_ratio_low import reach

MINIMUM_STEPS = 50
TINY = 1e-6
"""Fine-tuning with Adam starts at 1e-5 and above, everything else higher."""
WHOLE_RUN, REMAINS = 0.1, 0.5
ON_THE_WAY = 100
"""Steps: of fewer it is rather said that they are too few."""
OTHERWISE = ("nonfinite-loss", "diverging-loss", "raised-loss", "val-rising", "val-flat-from-start", "small-gradients", "gradient-decay-with-depth")
NOWHERE = 0.2
"""Of the weights' size: see signs/update_ratio_low.py."""
SOLVED = 0.9
"""Accuracy above this from the beginning: nothing is left to learn, so nothing moves."""


@cause(
    code="H402",
    level="hyperparameters",
    title="the learning rate is too low",
    why="The weights hardly move, so the run ends long before the model has learned what it could.",
    explains={"slow-descent", "flat-loss", "update-ratio-low", "chance-level", "early-plateau"},
    cure="lr=x10",
)
def lr_too_low(record: Record, signs: Signs) -> Iterator[Evidence]:
    slow = signs.named("slow-descent", "flat-loss")
    low = signs.named("update-ratio-low")
    if record.facts.log is not None:
        yield from _in_a_log(record, slow)
        return
    if record.facts.run.steps < MINIMUM_STEPS or mostly_loaded(record) or _solved(record):
        return
    optimizer, lr = main_optimizer(record), rate(record)
    if low and (slow or _hardly_moved(record, low[0])):
        yield from_sign("strong", low[0], rate_place(record))
        yield from (from_sign("hint", sign) for sign in slow[:1])
    elif on_the_way := _on_the_way(record, signs) or _nowhere(record, signs):
        yield strong(on_the_way, rate_place(record))
    else:
        return
    if lr is not None and optimizer is not None:
        yield hint(f"the learning rate is {number(lr)} ({optimizer.kind})", rate_place(record), lr=lr)
    if signs.has("small-gradients", "gradient-decay-with-depth"):
        yield against("the gradients themselves are tiny, so a higher rate alone would not help")


def _hardly_moved(record: Record, low: Sign) -> bool:
    """The whole run takes the weights a tenth of their size at most, and half of the loss is left, whatever shape (a schedule) its fall has."""
    curves = [c for c, _ in judged_losses(record) if len(c) >= MINIMUM_STEPS]
    return low.numbers["whole_run"] < WHOLE_RUN and bool(curves) and all(end(c).value > REMAINS * start(c).value for c in curves)


def _on_the_way(record: Record, signs: Signs) -> str:
    """The run ends on its way, and its steps are smaller than healthy ones: nothing but their size holds it up."""
    found = unfinished(record)
    if found is None or found.ratio >= HEALTHY or len(found.curve) < ON_THE_WAY or signs.has(*OTHERWISE):
        return ""
    return (
        f"a step changes the weights by {found.ratio:.1g} of their size (healthy: about 1e-3), all {record.facts.run.steps} together by at most {found.whole_run:.2g}; the loss, "
        f"{start(found.curve).value:.3g} at the start and {end(found.curve).value:.3g} now, falls to the very end"
    )


def _nowhere(record: Record, signs: Signs) -> str:
    """Steps below the healthy size that could not replace the weights once, and a loss that creeps in a straight line; or hardly touch them, and the noise of the batches hides whether the loss falls at all."""
    ratio, whole_run = reach(record)
    creeps = next((s for s in signs.named("flat-loss", "slow-descent") if whole_run < (NOWHERE if s.name == "flat-loss" else AS_LARGE)), None)
    if creeps is None or not 0 < ratio < HEALTHY or signs.has(*OTHERWISE):
        return ""
    return f"a step changes the weights by {ratio:.1g} of their size (healthy: about 1e-3), all {record.facts.run.steps} together by at most {whole_run:.2g}, and {creeps.text}"


def _in_a_log(record: Record, slow: tuple[Sign, ...]) -> Iterator[Evidence]:
    """Of a log only the rate itself is known, and whether it is low depends on the optimizer: a hint, from far below what any is used with."""
    rates = record.series("lr").values
    top = float(np.nanmax(rates, initial=0.0))
    if slow and 0 < top < TINY:
        yield from_sign("hint", slow[0])
        yield hint(f"the learning rate is never above {number(top)}", lr=top)


def _solved(record: Record) -> bool:
    values = record.series("accuracy/train").values
    return len(values) > 0 and float(np.median(values[: max(3, len(values) // 20)])) > SOLVED


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    return scaled(record, 10.0, "try ten times the learning rate")
