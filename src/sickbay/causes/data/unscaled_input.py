"""Inputs enter the model with a scale far from one, and training suffers from it.

## What happens

Initialisations and usual learning rates assume inputs with mean about 0 and spread about 1. Raw pixels (0 to 255) or table columns
of very different size (0.5 here, 1,000 there) make the first layer's outputs and gradients larger by the same factor:
the first steps throw the weights far off, ReLU units die, and the loss stays where guessing would be.

## How we know

Strong evidence, never proof: the statistics of the first batches at the model's door (overall spread, and smallest against
largest column) *and* a loss that diverges or does not get away from its start.

## Looks like it but is not

- Large inputs into a model that normalises first (batch norm, layer norm) or that simply trains well: no symptom, no finding.
- Token indices and other integer inputs: they are looked up, not multiplied.

## Fix

Standardise with the training set's mean and standard deviation, at the model's door, for training and evaluation alike.

## References

- LeCun, Bottou, Orr, Müller 1998, Efficient BackProp, section 4.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sickbay.causes.entering import entered, scaled_after
from sickbay.causes.evidence import first_place, located, strong
from sickbay.causes.fixing import mend
from sickbay.causes.registry import cause
from sickbay.facts import InputScale
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.signs import Signs
from sickbay.signs.curves import end
from sickbay.signs.losses import judged_losses

# Raw pixels have a spread of about 70; standardised data reach 10 in their tails, counts and prices go to thousands.
SPREAD = 30.0
# One column a thousand times wider than another, or its mean a hundred times off: then no learning rate suits both.
COLUMNS = 1e3
OFFSET = 100.0
SYMPTOMS = ("diverging-loss", "flat-loss", "chance-level", "nonfinite-loss")
MINIMUM_STEPS = 50
WORSE, MOSTLY = 1.5, 0.1
"""Times the variance of the targets, which was measured on the first batches only; all but one in ten of the last losses lie above."""


@cause(
    code="D104",
    level="data",
    title="inputs are far from unit scale",
    why="The first layer's outputs and gradients grow with the inputs, so that a usual learning rate throws the weights off in the first steps.",
    explains={
        "diverging-loss", "flat-loss", "chance-level", "nonfinite-loss", "nonfinite-gradient", "early-plateau", "oscillating-loss", "loss-spikes",
        "gradient-spike", "update-ratio-high", "dead-units", "saturated-units", "lr-too-high", "dead-relu", "vanishing-gradient",
        "gradient-growth-with-depth", "gradient-decay-with-depth", "slow-descent", "lr-too-low",
    },
    cure="standardise-input",
)  # fmt: skip
def unscaled_input(record: Record, signs: Signs) -> Iterator[Evidence]:
    scale = next((s for s in record.facts.inputs if s.role == "train" and "float" in s.dtype), None)
    symptom = next((s.text for s in signs.named(*SYMPTOMS)), "") or _worse_than_the_mean(record)
    if scale is None or not symptom or _normalised_first(record):
        return
    text = _extreme(scale)
    if text:
        steps = next((s.steps for s in signs.named(*SYMPTOMS)), None)
        probe = record.facts.data_probe
        forward = record.facts.timeline.places.get("forward") or (probe.place if probe is not None else None)
        where = f"{text}, where it enters the model{located(forward)}" if (place := entered(record)) is not None else text
        yield strong(f"{where}; {symptom}", place or forward, steps, mean=scale.mean, std=scale.std, maximum=scale.maximum)


def _worse_than_the_mean(record: Record) -> str:
    """A regression that ends above the variance of its targets: it falls from so high that it looks like learning."""
    for c, loss in judged_losses(record):
        heads = loss.heads if loss else ()
        target = heads[0].target if len(heads) == 1 and heads[0].function == "mse_loss" and heads[0].reduction == "mean" else None
        if target is None or target.std <= 0 or len(c) < MINIMUM_STEPS:
            continue
        if float(np.quantile(c.values[-max(10, len(c) // 10) :], MOSTLY)) > WORSE * target.std**2:
            return f"the loss ends at {end(c).value:.3g}, and giving the mean of the targets as the answer to everything has {target.std**2:.3g}"
    return ""


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
    snippet = "mean, std = x_train.mean(0), x_train.std(0).clamp_min(1e-8)\nx_train, x_test = (x_train - mean) / std, (x_test - mean) / std"
    return mend("standardise the inputs with the training set's mean and spread", scaled_after(record, first_place(evidence)), snippet, "consent")
