"""Validation samples reach the model on another scale than training samples did.

## What happens

Training data is divided by 255, standardised or cropped, and validation data is not (or with other numbers). The model never met such inputs: training goes
well, and validation is poor from the first epoch on.

## How we know

Mean and spread of each feature over the training batches and over the evaluation batches, as they enter the model. Nearly all features are shifted by more than
their own spread, or several times wider or narrower; where one rule (a factor, a shift, reversed channels) maps one to the other, it is named. It is an illness
only if validation does badly.

## Looks like it but is not

- Sampling error of a small validation set: the differences found here are ten times larger and more.
- Augmentation: it moves features by a part of their spread.
- A drift in time that validation copes with.

## Fix

Prepare validation data with the very same steps, and with the numbers that were measured on the training data.

## References

- https://scikit-learn.org/stable/common_pitfalls.html (inconsistent preprocessing).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sickbay.causes.evaluated import evaluations, where
from sickbay.causes.evidence import from_sign, hint, located, strong
from sickbay.causes.fixing import mend
from sickbay.causes.registry import cause
from sickbay.facts import EvaluationData
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.signs import Signs

ROWS = 20
SHIFT, WIDER = 1.0, 3.0
"""A feature's mean outside of its own spread, or its spread three times larger or smaller: augmentation and chance do neither to most features."""
MOST = 0.6
"""...of the features that vary."""
FAR = 1.5
"""Validation loss against training loss, where no sign speaks: clearly worse."""


@cause(
    code="D107",
    level="data",
    title="validation data is prepared differently from training data",
    why="The model meets inputs in validation that it was never trained on, so validation says nothing of what was learned.",
    explains={
        "val-flat-from-start", "train-val-gap", "val-rising", "overfitting", "chance-level", "train-mode-in-evaluation", "unscaled-input",
    },
    cure="match-evaluation-input",
)  # fmt: skip
def train_val_mismatch(record: Record, signs: Signs) -> Iterator[Evidence]:
    trouble = next(iter(signs.named("val-flat-from-start", "train-val-gap", "val-rising")), None)
    worse = trouble is not None or _worse(record)
    if not worse:
        return
    if record.facts.log is not None:  # curves alone: only that validation never followed
        yield from (from_sign("hint", sign) for sign in signs.named("val-flat-from-start")[:1])
    for data in evaluations(record):
        if text := _difference(data):
            place = where(record, data)
            yield strong(f"what is evaluated{located(place)} {text}", place, rows=data.rows)
            if trouble is not None:
                yield from_sign("hint", trouble)
            else:
                yield hint("the validation loss is far above the training loss")
            return


def _worse(record: Record) -> bool:
    train, evaluated = record.series("loss/train"), record.series("loss/eval")
    if len(train) < 20 or len(evaluated) < 1:
        return False
    last = float(np.median(train.values[-max(5, len(train) // 10) :]))
    return float(np.median(evaluated.values[-3:])) > FAR * last + 1e-3 and last > 0


def _difference(data: EvaluationData) -> str:
    """How evaluation differs from training, in words; empty if it does not."""
    a, b = data.train, data.evaluation
    if a is None or b is None or not data.same_shape or min(a.rows, b.rows) < ROWS or len(a.mean) != len(b.mean):
        return ""
    mean_a, std_a, mean_b, std_b = (np.array(v) for v in (a.mean, a.std, b.mean, b.std))
    varies = (std_a > 1e-6 * max(abs(a.minimum), abs(a.maximum), 1e-12)) | (std_b > 1e-6 * max(abs(b.minimum), abs(b.maximum), 1e-12))
    if varies.sum() < 2:
        return ""
    mean_a, std_a, mean_b, std_b = mean_a[varies], std_a[varies], mean_b[varies], std_b[varies]
    wide = np.maximum(std_a, 1e-12)
    shifted = np.abs(mean_b - mean_a) > SHIFT * np.maximum(wide, std_b)
    ratio = np.maximum(std_b, 1e-12) / wide
    scaled = (ratio > WIDER) | (ratio < 1 / WIDER)
    if (shifted | scaled).mean() < MOST:
        return ""
    factor = float(np.median(ratio))
    spread = f"spread {np.median(std_b):.3g} instead of {np.median(std_a):.3g}, mean {np.median(mean_b):.3g} instead of {np.median(mean_a):.3g}"
    rule = _rule(mean_a, std_a, mean_b, factor)
    return f"lies elsewhere than what was trained on: {spread} (medians over {int(varies.sum())} features){rule}"


def _rule(mean_a: np.ndarray, std_a: np.ndarray, mean_b: np.ndarray, factor: float) -> str:
    """One rule for all features, where there is one."""
    if (factor > WIDER or factor < 1 / WIDER) and float(np.median(np.abs(mean_b - factor * mean_a))) < 0.25 * factor * float(np.median(std_a)):
        return f"; it is the same data times {factor:.3g}"
    standard = float(np.median(np.abs(mean_a))) < 0.2 and 0.3 < float(np.median(std_a)) < 3
    if standard and float(np.median(np.abs(mean_b))) > 1:
        return "; training data is standardised, this is not"
    return ""


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    return mend(
        "prepare validation data with the same function, and the same numbers, as training data",
        "",
        "x_val = (x_val - train_mean) / train_std  # the numbers of the training set",
    )
