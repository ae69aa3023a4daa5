"""The model memorises its training data: validation gets worse while training gets better.

## What happens

After what is common to all data has been learned, the model goes on learning what is particular to the training samples. Training
loss falls on, validation loss turns and rises.

## How we know

Validation loss rose from its best by 12 % or more (and by 6 % of all that was ever won), beyond the noise between its
evaluations, for at least the last quarter of the run, while training loss kept falling and is now less than half of it.

Of a validation loss that is only printed, on a scale of its own (Cox's partial likelihood over a whole cohort, likelihoods below zero), the differences tell: both losses began together, training
went on falling, and validation rose by more than half of what training won in the meantime.

In a log of another tool, whose values are means over many steps, a rise of 5 % is enough if it goes on over four evaluations and more and takes back
a quarter of what training wins in the meantime; so is a validation loss that stands at three times the training loss and more,
or at 1.75 times if it was never lower than at first, over a dozen evaluations in which training fell by a fifth. A steady rise by a quarter over eight
evaluations is enough where training, whose loss may have a floor, still wins 2 %; and so is a rise of 5 % with an accuracy that falls by two points while training falls by a quarter.

## Looks like it but is not

- A small turn at the end of a run with early stopping.
- A gap between training and validation loss that does not widen, or validation better than training (dropout); in a log, a gap where 99 % of validation's answers are right.
- A confident classifier whose validation loss creeps up by a hundredth of what it learned.
- Validation that never fell at all: train and validation data differ, or there is nothing to generalise.
- Dropout switched off by eval mode in training, evaluation in train mode: found by themselves.

## Fix

Keep the weights of the best evaluation (early stopping); then weight decay, dropout, augmentation, more data or a smaller model.

## References

- Goodfellow, Bengio, Courville 2016, section 7.8 (early stopping). Loshchilov and Hutter 2019 (decoupled weight decay).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sickbay.causes.evaluated import training_rows
from sickbay.causes.evidence import from_sign, located
from sickbay.causes.printed_turn import printed_turn
from sickbay.causes.rates import decay_written, main_optimizer
from sickbay.causes.registry import cause
from sickbay.nouns import Evidence, Fix, Place, Sign
from sickbay.record.reader import Record
from sickbay.script.fixing import keyword, mend
from sickbay.script.length import length_place
from sickbay.script.naming import constructor
from sickbay.script.written import Written, changed, named_like, place_of
from sickbay.signs import Signs

OFTEN = 100
"""Passes over each sample. Overfitting runs of usual length in the ward make 12 to 40 (164, 166, 1157, 1162); one that kept a limit meant for trying out makes 130 (1017)."""
SAMPLES = re.compile(r"train|sample|\bn\b|num|size|rows|limit|count|max", re.IGNORECASE)
LEARNED = 0.1
"""Validation improved by a tenth of the untrained loss before it turned: otherwise it never generalised at all."""

APART = 0.5
"""Training loss below half of validation loss: what is memorised shows as a gap."""


APART_IN_LOGS = 0.8
CLEAR_RISE = 0.2
FAR_APART = 3.0
STANDS_AT, ELSEWHERE = 0.95, 1.25
HANDFUL = 6
ANSWERED = 0.99
STANDS = 0.02
"""Validation improved by less than 2 % over the second half of the run."""


@cause(
    code="H403",
    level="hyperparameters",
    title="the model overfits",
    why="What it learns after the turn holds for the training samples only and makes it worse on new data.",
    explains={"val-rising", "train-val-gap"},
    cure=None,
)
def overfitting(record: Record, signs: Signs) -> Iterator[Evidence]:
    turns = _turns(signs, logged=record.facts.log is not None)
    for sign in turns[:1]:
        told = from_sign("strong", sign)
        yield _placed(told, record)
        yield from (from_sign("hint", gap) for gap in signs.at(sign.where, "train-val-gap"))
    if not turns and (printed := printed_turn(record)) is not None:
        yield _placed(printed, record)
    if not turns and record.facts.log is not None and not signs.has("val-flat-from-start") and not _answered(record):
        yield from (from_sign("strong", gap) for gap in signs.named("train-val-gap")[:1] if _memorised(gap.numbers))


def _placed(told: Evidence, record: Record) -> Evidence:
    """With what the script itself sets too low or too high; first what costs nothing to change."""
    for place, what in (
        (place_of(_turned_off(record)), "weight decay is turned off"),
        (_few(record), "how many samples there are"),
        (length_place(record), "how long it trains"),
    ):
        if place is not None:
            is_set = "" if what.endswith("off") else " is set"
            return replace(told, place=place, text=f"{told.text}; {what}{is_set}{located(place)}")
    return told


def _turned_off(record: Record) -> Written | None:
    """The nought that the script gives its optimizer for a decay: who has a handle for it and leaves it at nothing has been asked to turn it."""
    optimizer = main_optimizer(record)
    built = constructor(record, optimizer) if optimizer is not None else None
    if optimizer is None or built is None or keyword(built[1], "weight_decay") is None or any(g.weight_decay != 0 for g in optimizer.groups):
        return None
    return decay_written(record, 0.0)


def _few(record: Record) -> Place | None:
    """Where the number of training samples is written, if each of them came a hundred times and more: then it is not the length of the run that is odd."""
    rows, labels = training_rows(record), record.facts.labels
    batch = next((x.batch_size or 0 for x in record.facts.loaders if x.role == "train"), 0) or (labels.batch_size if labels is not None else 0)
    return named_like(record, rows, SAMPLES) if rows and record.facts.run.steps * batch >= OFTEN * rows else None


def _answered(record: Record) -> bool:
    """Whether a log's validation ends with nearly every answer right: then two losses near zero lie apart by confidence only."""
    rates = record.series("accuracy/eval").values
    rates = rates[np.isfinite(rates)]
    return len(rates) > 0 and float(rates[-1]) >= ANSWERED * (100 if float(np.max(rates)) > 1 else 1)


def _memorised(n: Mapping[str, float]) -> bool:
    """A log's validation loss that stands, or rises too little to be called a turn, far above a training loss that goes on falling; less far if it
    has stood from the first evaluation on."""
    return (n["validation"] > FAR_APART * n["train"] or n["stood"] > 0) and n["late_fall"] < STANDS


def _turns(signs: Signs, *, logged: bool) -> list[Sign]:
    def memorised(n: Mapping[str, float]) -> bool:
        if logged:  # its first evaluation often comes after a whole epoch, when all that generalises has been learned already
            return "steady" in n or n["train_end"] < APART_IN_LOGS * n["end"] or n["end"] > (1 + CLEAR_RISE) * n["best"]
        return n["won"] > LEARNED * (n["best"] + n["won"]) and n["train_end"] < APART * n["end"]

    return [s for s in signs.named("val-rising") if memorised(s.numbers) and not (logged and _elsewhere(s, signs))]


def _elsewhere(sign: Sign, signs: Signs) -> bool:
    """Validation never fell, and was far off from the first evaluation on: the data differ. The first of a handful of evaluations comes too late to say so."""
    n = sign.numbers
    never_fell = n["evaluations"] > HANDFUL and n["best"] > STANDS_AT * n["first"] and n["best"] > ELSEWHERE * n["train_first"]
    return never_fell and bool(signs.at(sign.where, "val-flat-from-start"))


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    numbers = next((e.numbers for e in evidence if "best_step" in e.numbers), {})
    epoch = _epoch(record, numbers.get("best_step"))
    when = f" (step {numbers['best_step']:.0f}{epoch})" if "best_step" in numbers else ""
    optimizer = main_optimizer(record)
    built = constructor(record, optimizer) if optimizer is not None else None
    more = "1e-1" if optimizer is not None and any(g.weight_decay for g in optimizer.groups) else "1e-2"  # AdamW has a hundredth of its own
    diff = built[0].diff(built[0].giving(built[1], "weight_decay", more)) if built is not None and keyword(built[1], "weight_decay") is None else ""
    diff = diff or changed(_turned_off(record), more)
    text = f"keep the weights of the best evaluation{when} and stop when it no longer improves; then regularise (weight decay, dropout, more data)"
    return mend(text, diff, "if val_loss < best:\n    best, state = val_loss, copy.deepcopy(model.state_dict())", "consent")


def _epoch(record: Record, step: float | None) -> str:
    per_epoch = record.facts.run.steps_per_epoch
    return f", epoch {step / per_epoch:.0f}" if step is not None and per_epoch else ""
