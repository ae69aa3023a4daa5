"""Inputs enter the model with a scale far from one, and training suffers from it.

## What happens

Initialisations and usual learning rates assume inputs with mean about 0 and spread about 1. Raw pixels (0 to 255) or table columns
of very different size (0.5 here, 1,000 there) make the first layer's outputs and gradients larger by the same factor:
the first steps throw the weights far off, ReLU units die, and the loss stays where guessing would be. Inputs that were scaled twice (divided by 255 by the
data set and by the loop) are as far off on the other side: beside its own biases the first layer hardly sees them. So are samples that differ by a hundredth around a common
level (divided twice and then standardised with the numbers of what was divided once): the first layer sees the level.

## How we know

Strong evidence, never proof: the statistics of the first batches at the model's door (overall spread, and smallest against
largest column) *and* a loss that diverges, does not get away from its start, or ends above the variance of its targets. Or one that levels off where the model tells far less
of its own training samples than a linear map of the same inputs, standardised (or the nearest other samples), tells of samples held out: what there is to learn is
there, and lost at the model's door.

## Looks like it but is not

- Unit vectors and sparse rows: their numbers are small, but they lie around zero.
- Large inputs into a model that normalises first (batch norm, layer norm) or that simply trains well: no symptom, no finding.
- A model that divides or subtracts by itself before its first layer: what enters that layer is not what enters the model.
- A loss that still falls, weights that hardly move, targets with a few huge values: a linear map that does better is then no sign of the inputs.
- A few samples far outside all others: they are corrupt, and scaling would follow them.
- Token indices and other integer inputs: they are looked up, not multiplied.

## Fix

Standardise with the training set's mean and standard deviation, at the model's door, for training and evaluation alike.

## References

- LeCun, Bottou, Orr, Müller 1998, Efficient BackProp, section 4.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sickbay.causes.evidence import first_place, listed, located, strong
from sickbay.causes.examples import falls_short, probe_of
from sickbay.causes.initial import solved
from sickbay.causes.registry import cause
from sickbay.facts import Head, InputScale
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.script.entering import divided, entered, scaled_after, scaled_in_part, undivided
from sickbay.script.fixing import mend
from sickbay.signs import Signs
from sickbay.signs.curves import Curve, end
from sickbay.signs.losses import chance_loss, judged_losses

# Raw pixels have a spread of about 70; standardised data reach 10 in their tails, counts and prices go to thousands.
SPREAD = 30.0
# One column a thousand times wider than another, or its mean a hundred times off: then no learning rate suits both.
COLUMNS = 1e3
OFFSET = 100.0
FEWEST_COLUMNS, SCALED = 3, 2.0
"""Mean or spread of columns that are scaled, or yes and no."""
TINY = 0.1
"""The largest input: pixels reach 1 once they are divided, 0.004 once they are divided twice, 0.06 where they only reach 16. Sparse ones are none of these: they reach 1."""
FAINT, LEVEL = 0.05, 10.0
"""No feature differs by more than this between samples, and the farthest lies so many times as far from zero: standardised inputs, and unit vectors of 400 numbers, differ by 1 and 0.05 around
zero. What a first layer makes of such samples is a constant and a tenth of it, or less, that tells them apart."""
TOLD = 5.0
"""Spreads beyond chance."""
SLOW = ("flat-loss", "chance-level", "slow-descent")
SYMPTOMS = ("diverging-loss", "flat-loss", "chance-level", "nonfinite-loss")
RAILS = 0.9
"""Of a layer's outputs, from the first step on: as the sign asks for at the end."""
SOLVED = 0.1
"""Of the first loss: then the model copes."""
MINIMUM_STEPS = 50
MULTIPLIED = frozenset({
    "linear", "conv1d", "conv2d", "conv3d", "bilinear", "matmul", "mm", "addmm", "bmm", "einsum", "lstm", "gru", "rnn_tanh", "rnn_relu", "lstm_cell", "gru_cell",
})  # fmt: skip
"""What multiplies the data by weights as they come."""
LONG, DONE = 200, 0.2
"""Steps, and the part of the last loss by which it fell since half-way: what falls faster is still learning."""
HUGE = 6.0
"""Spreads from the mean: the farthest of a few hundred normal values lies at 3 to 4."""
WORSE, MOSTLY = 1.5, 0.1
"""Times what a constant scores (of targets, their variance, which was measured on the first batches only); all but one in ten of the last losses lie above."""


@cause(
    code="D104",
    level="data",
    title="inputs are far from unit scale",
    why="The first layer's outputs and gradients follow the scale of the inputs: far above one a usual learning rate throws its weights off, far below one they hardly move.",
    explains={
        "diverging-loss", "flat-loss", "chance-level", "nonfinite-loss", "nonfinite-gradient", "early-plateau", "oscillating-loss", "loss-spikes",
        "gradient-spike", "update-ratio-high", "dead-units", "saturated-units", "saturated-activation", "lr-too-high", "dead-relu", "vanishing-gradient",
        "gradient-growth-with-depth", "gradient-decay-with-depth", "slow-descent", "lr-too-low", "activation-growth", "majority-class-predictor",
    },
    cure="standardise-input",
)  # fmt: skip
def unscaled_input(record: Record, signs: Signs) -> Iterator[Evidence]:
    scale = next((s for s in record.facts.inputs if s.role == "train" and "float" in s.dtype), None)
    symptom = suffering(record, signs)
    if scale is None or _normalised_first(record) or _a_few_samples(record):
        return
    yield from _tiny(record, signs, scale) if max(abs(scale.minimum), abs(scale.maximum)) < TINY else _faint(record, signs, scale)
    if not symptom:
        return
    text = _extreme(scale)
    if text:
        steps = next((s.steps for s in signs.named(*SYMPTOMS)), None)
        probe = record.facts.data_probe
        forward = record.facts.timeline.places.get("forward") or (probe.place if probe is not None else None)
        left = _left_out(record)
        place = (scaled_in_part(record) if left else None) or entered(record)
        where = f"{text}{left}, where it enters the model{located(forward)}" if place is not None else text + left
        yield strong(f"{where}; {symptom}", place or forward, steps, mean=scale.mean, std=scale.std, maximum=scale.maximum)


def suffering(record: Record, signs: Signs) -> str:
    """What shows that the run does not cope with its inputs; empty if it does."""
    return (
        next((s.text for s in signs.named(*SYMPTOMS)), "")
        or _worse_than_a_constant(record)
        or _worse_than_a_line(record, signs)
        or _at_the_rails(record, signs)
    )


def _at_the_rails(record: Record, signs: Signs) -> str:
    """Squashing units of a layer that such inputs had driven to their rails before the first update, and that stay there."""
    told = (s.text for s in signs.named("saturated-units") if s.numbers["at_start"] > RAILS)
    return next(told, "") if not solved(record, SOLVED) else ""


def _a_few_samples(record: Record) -> bool:
    """The scale is that of a few samples far outside all others: `corrupt-samples` tells of them."""
    return record.facts.data_probe is not None and record.facts.data_probe.outlying is not None


def _tiny(record: Record, signs: Signs, scale: InputScale) -> Iterator[Evidence]:
    """Scaled down once too often."""
    largest = max(abs(scale.minimum), abs(scale.maximum))
    sign = next(iter(signs.named(*SLOW)), None)
    if sign is not None and largest > 0:
        place = divided(record) or record.facts.timeline.places.get("forward")
        text = f"the input is nowhere larger than {largest:.2g} (spread {scale.std:.2g}), so that the first layer hardly sees it beside its biases"
        yield strong(f"{text}; {sign.text}", place, sign.steps, mean=scale.mean, std=scale.std, maximum=scale.maximum)


def _faint(record: Record, signs: Signs, scale: InputScale) -> Iterator[Evidence]:
    """A ripple on a constant, which meets weights as it is, though the samples tell their targets once they are standardised."""
    sign = next(iter(signs.named(*SLOW)), None)
    ripple = 0 < scale.feature_std_max < FAINT and scale.feature_abs_mean_max > LEVEL * scale.feature_std_max
    if sign is None or not ripple or not _as_they_come(record) or not _can_be_told(record):
        return
    place = divided(record) or entered(record) or record.facts.timeline.places.get("forward")
    text = (
        f"no number of the input differs by more than {scale.feature_std_max:.2g} between samples (spread), around a level of up to "
        f"{scale.feature_abs_mean_max:.2g}: the first layer sees the level"
    )
    yield strong(f"{text}; {sign.text}", place, sign.steps, mean=scale.mean, std=scale.std, maximum=scale.maximum, ripple=scale.feature_std_max)


def _can_be_told(record: Record) -> bool:
    probe = probe_of(record)
    return probe is not None and probe.relation is not None and probe.relation.beyond > TOLD


def _as_they_come(record: Record) -> bool:
    """The model multiplies its inputs by weights before it does anything else to them."""
    entering = [loss.entrances[0].name for loss in record.facts.losses if loss.entrances]
    return bool(entering) and all(name in MULTIPLIED for name in entering)


def _worse_than_a_constant(record: Record) -> str:
    """A loss that ends above that of the best constant answer: it falls from so high that it looks like learning."""
    for c, loss in judged_losses(record):
        head = loss.heads[0] if loss is not None and len(loss.heads) == 1 else None
        constant = _constant(record, head) if head is not None and len(c) >= MINIMUM_STEPS else None
        if constant is not None and float(np.quantile(c.values[-max(10, len(c) // 10) :], MOSTLY)) > WORSE * constant[0]:
            return f"the loss ends at {end(c).value:.3g}, and {constant[1]} has {constant[0]:.3g}"
    return ""


def _constant(record: Record, head: Head) -> tuple[float, str] | None:
    """What the best constant answer scores, and what it is."""
    if (guess := chance_loss(record, head)) is not None:
        return guess, "guessing by the shares of the classes"
    if head.function == "mse_loss" and head.reduction == "mean" and head.target is not None and head.target.std > 0:
        return head.target.std**2, "giving the mean of the targets as the answer to everything"
    return None


def _worse_than_a_line(record: Record, signs: Signs) -> str:
    """Levelled off, far above what a linear map of standardised inputs reaches, in a model whose first layer multiplies the inputs as they come."""
    if signs.has("update-ratio-low") or not _as_they_come(record) or _a_few_huge(record):
        return ""
    short = falls_short(record) if any(_levelled(c) for c, _ in judged_losses(record)) else None
    return f"the model has levelled off and tells {short.text}, once they are standardised" if short is not None else ""


def _levelled(c: Curve) -> bool:
    if len(c) < LONG or c.first_nonfinite is not None:
        return False
    half, last = (float(np.median(c.values[int(a * len(c)) : int(b * len(c))])) for a, b in ((0.4, 0.6), (0.8, 1.0)))
    return half - last < DONE * last


def _a_few_huge(record: Record) -> bool:
    """Targets far out: they make up most of the squares, and nothing of an order by size, in which simple means are asked."""
    targets = [h.target for loss in record.facts.losses for h in loss.heads if h.function == "mse_loss" and h.target is not None]
    return any(max(t.maximum - t.mean, t.mean - t.minimum) > HUGE * t.std for t in targets)


def _left_out(record: Record) -> str:
    """A few columns that are as they were measured, beside others that are scaled."""
    known = next((d.train for d in record.facts.evaluation_data if d.train is not None and len(d.shape) == 1 and len(d.train.std) == d.width), None)
    if known is None or len(known.std) < FEWEST_COLUMNS:
        return ""
    sizes = np.maximum(np.abs(known.mean), known.std)
    raw, others = np.flatnonzero(sizes > SPREAD), sizes[sizes <= SPREAD]
    if not 0 < len(raw) <= len(sizes) / 2 or others.max() > SCALED:
        return ""
    which = (
        f"column {raw[0]} of {len(sizes)} is as it was"
        if len(raw) == 1
        else f"columns {listed([str(j) for j in raw])} of {len(sizes)} are as they were"
    )
    return f" ({which} measured, up to {sizes.max():.3g} on average; the others are scaled)"


def _extreme(s: InputScale) -> str:
    spread = max(abs(s.mean), s.std)
    if s.feature_std_min > 0 and s.feature_std_max > COLUMNS * s.feature_std_min and s.feature_std_max > SPREAD:
        return f"the columns of the input have spreads from {s.feature_std_min:.2g} to {s.feature_std_max:.3g}"
    if s.feature_abs_mean_max > OFFSET and s.feature_std_max > SPREAD:
        return f"the input has columns with a mean of up to {s.feature_abs_mean_max:.3g}"
    if spread > SPREAD:
        return f"the input runs from {s.minimum:.3g} to {s.maximum:.3g} (mean {s.mean:.3g}, spread {s.std:.3g})"
    return ""


def _normalised_first(record: Record) -> bool:
    """A normalisation is the first that the inputs meet (they, not the targets, which come later)."""
    first = [loss.entrances[0].name for loss in record.facts.losses if loss.entrances]
    return bool(first) and all("norm" in name for name in first)


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    numbers = evidence[0].numbers if evidence else {}
    if numbers.get("maximum", 1.0) < TINY and ("ripple" not in numbers or undivided(record, first_place(evidence))):
        snippet = "images = images / 255.0  # once: here, or in the data set"
        return mend("scale the inputs once, to a size of about one", undivided(record, first_place(evidence)), snippet, "consent")
    snippet = "mean, std = x_train.mean(0), x_train.std(0).clamp_min(1e-8)\nx_train, x_test = (x_train - mean) / std, (x_test - mean) / std"
    place = first_place(evidence)
    if place is not None and _left_out(record) and place == scaled_in_part(record):
        return mend(f"scale all columns that are measured: some are missing from those that are{located(place)}", "", snippet)
    return mend("standardise the inputs with the training set's mean and spread", scaled_after(record, place), snippet, "consent")
