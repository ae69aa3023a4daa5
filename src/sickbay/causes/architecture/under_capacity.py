"""The model is too small for its task: all it knows of a sample has to pass through one or two numbers, or it has hardly any weights.

## What happens

Gradients flow, the learning rate is fair, nothing is broken, and the training loss still levels off far above what the data allow. Training and
validation are equally bad. However long it trains, what was squeezed out at the narrow place cannot come back.

## How we know

In the graph of the loss, the narrowest value that no way leads around, from the data to the prediction. One or two numbers per sample from which at
least three times as many outputs are made, together with a training loss that the second half of the run hardly lowered, is strong
evidence. So is a model of a few hundred weights whose loss has levelled off, if the nearest other samples (or a linear map) tell most of the targets of samples
that they were not given, and the model leaves three times as much untold even of those that it is trained on. Whether a larger model would do better only a
trial can show; other ways of being too small are not told without one.

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

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from sickbay.causes.evidence import from_sign, hint, strong
from sickbay.causes.examples import falls_short
from sickbay.causes.initial import init_place
from sickbay.causes.registry import cause
from sickbay.facts import Waist
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.script.by_hand import made_at
from sickbay.script.written import named_like
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
FEW_WEIGHTS = 300
"""Less than a linear map of scikit-learn's digits has: small by any measure."""
SIZES = re.compile(r"\b(?:hidden|width|dim|size|units|channels?|code|latent|bottleneck|features?|embed\w*|rank|neurons)\b", re.IGNORECASE)
"""Names that scripts give to the width of a layer."""
SHARES = re.compile(r"\b(?:width|channels?|units|size)\b.*\b(?:mult\w*|factor|scale|ratio)\b|^width$", re.IGNORECASE)
"""...and to a factor that all widths are multiplied by."""
OTHERWISE = ("diverging-loss", "nonfinite-loss", "oscillating-loss", "update-ratio-low", "train-val-gap", "val-rising", "chance-level", "flat-loss")
"""Signs of other illnesses; at the level of guessing nothing at all is learned, which a narrow model still could."""


@cause(
    code="A216",
    level="architecture",
    title="the model is too small",
    why="What there is to learn does not fit into the model, so the loss levels off however long it trains.",
    explains={"early-plateau", "slow-descent"},
    cure=None,
)
def under_capacity(record: Record, signs: Signs) -> Iterator[Evidence]:
    plateau = _plateau(record)
    if plateau is None or signs.has(*OTHERWISE):
        return
    waist = _narrowest(record)
    ledger = [*(_narrow(record, waist) if waist is not None else _small(record))]
    if not ledger:
        return
    yield from ledger
    yield hint(plateau)
    for sign in signs.named("early-plateau", "slow-descent")[:1]:
        yield from_sign("hint", sign)


def _narrow(record: Record, waist: Waist) -> Iterator[Evidence]:
    numbers = "one number" if waist.width == 1 else f"{waist.width} numbers"
    layer = waist.op.place.layer if waist.op.place is not None and waist.op.place.layer else waist.op.name
    size = named_like(record, waist.width, SIZES) or named_like(record, lambda v: 0 < v < 1, SHARES)
    yield strong(
        f"all that the model knows of a sample passes through {numbers} ({layer}), from which {waist.outputs} outputs are made",
        replace(size, layer=waist.op.place.layer) if size is not None and waist.op.place is not None else waist.op.place,
        width=waist.width,
        outputs=waist.outputs,
    )


def _small(record: Record) -> Iterator[Evidence]:
    """Hardly any weights, and simple means tell far more of new samples than the model does of its own."""
    weights = sum(p.size for p in record.facts.parameters if p.trainable)
    short = falls_short(record) if 0 < weights <= FEW_WEIGHTS else None
    if short is not None:
        yield strong(
            f"the model has {weights:,} weights and tells {short.text}",
            next((place for w in record.facts.weights if (place := init_place(record, w)) is not None), None) or made_at(record),
            weights=weights,
            told=short.told,
        )


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
    if waist is None:
        return Fix("give the model several times as many units, and try whether it can then memorise one batch", "hidden = 64", "advice")
    wider = max(8, 2 * waist.outputs) if waist.outputs < 64 else 32
    return Fix("widen the narrow layer, and try whether the model can then memorise one batch", f"hidden = {wider}", "advice")
