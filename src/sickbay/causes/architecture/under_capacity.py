"""The model is too narrow for its task: all it knows of a sample has to pass through one or two numbers.

## What happens

Gradients flow, the learning rate is fair, nothing is broken, and the training loss still levels off far above what the data allow. Training and
validation are equally bad. However long it trains, what was squeezed out at the narrow place cannot come back.

## How we know

In the graph of the loss, the narrowest value that no way leads around, from the data to the prediction. One or two numbers per sample from which at
least three times as many outputs are made, together with a training loss that the second half of the run hardly lowered, is strong
evidence. Whether a wider model would do better only a trial can show; other ways of being too small are not told without one.

## Looks like it but is not

- Hidden layers narrower than the number of classes: usual, as long as they are not a few numbers.
- An autoencoder with a code of two (to draw a map), a factorisation of low rank: narrow on purpose.
- Adapters and gates beside the main way: there is a way around.
- A loss that is still falling, a learning rate that does not suit, dead or saturated units, a gap to validation: other causes.

## Fix

Widen the narrow layer; try whether the model can memorise one batch.

## References

- Goodfellow, Bengio, Courville 2016, section 5.2 (capacity); Karpathy 2019, A recipe for training neural networks (overfit one batch).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sickbay.causes.evidence import from_sign, hint, strong
from sickbay.causes.registry import cause
from sickbay.facts import Waist
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.signs import Signs
from sickbay.signs.curves import Curve, start
from sickbay.signs.losses import judged_losses

NARROW = 2
"""Three numbers can still be a sensible code; one or two are a plot or a slip."""
TIMES = 3
"""...from which at least three times as many outputs are made: more than a line or a plane through them can serve."""
MINIMUM_STEPS = 100
HIGH = 0.3
"""The loss ends above this part of its start..."""
DONE = 0.1
"""...and was lowered by less than a tenth from the middle of the run to its end."""
OTHERWISE = ("diverging-loss", "nonfinite-loss", "oscillating-loss", "update-ratio-low", "train-val-gap", "val-rising", "chance-level", "flat-loss")
"""Signs of other illnesses; at the level of guessing nothing at all is learned, which a narrow model still could."""


@cause(
    code="A216",
    level="architecture",
    title="the model is too narrow",
    why="What a sample is has to pass through one or two numbers, so the loss levels off however long it trains.",
    explains={"early-plateau", "slow-descent"},
    cure=None,
)
def under_capacity(record: Record, signs: Signs) -> Iterator[Evidence]:
    plateau = _plateau(record)
    waist = _narrowest(record)
    if plateau is None or waist is None or signs.has(*OTHERWISE):
        return
    numbers = "one number" if waist.width == 1 else f"{waist.width} numbers"
    layer = waist.op.place.layer if waist.op.place is not None and waist.op.place.layer else waist.op.name
    yield strong(
        f"all that the model knows of a sample passes through {numbers} ({layer}), from which {waist.outputs} outputs are made",
        waist.op.place,
        width=waist.width,
        outputs=waist.outputs,
    )
    yield hint(plateau)
    for sign in signs.named("early-plateau", "slow-descent")[:1]:
        yield from_sign("hint", sign)


def _narrowest(record: Record) -> Waist | None:
    waists = [w for loss in record.facts.losses for w in loss.waists if w.width <= (1 if w.rebuilds else NARROW) and w.outputs >= TIMES * w.width]
    return min(waists, key=lambda w: w.width, default=None)


def _plateau(record: Record) -> str | None:
    for c, _ in judged_losses(record):
        if len(c) >= MINIMUM_STEPS and c.first_nonfinite is None:
            first, middle, last = start(c).value, _median(c, 0.4, 0.6), _median(c, 0.8, 1.0)
            if last > HIGH * first and last < first and middle - last < DONE * last:
                return f"the training loss began at {first:.3g}, was {middle:.3g} half-way and is {last:.3g} at the end"
    return None


def _median(c: Curve, begin: float, stop: float) -> float:
    return float(np.median(c.values[int(begin * len(c)) : max(int(stop * len(c)), 1)]))


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    waist = _narrowest(record)
    wider = max(8, 2 * waist.outputs) if waist is not None and waist.outputs < 64 else 32
    return Fix("widen the narrow layer, and try whether the model can then memorise one batch", f"hidden = {wider}", "advice")
