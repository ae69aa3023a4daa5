"""Validation samples reach the model on another scale than training samples did.

## What happens

Training data is divided by 255, standardised or cropped, and validation data is not (or with other numbers). The model never met such inputs: training goes
well, and validation is poor from the first epoch on.

## How we know

Mean and spread of each feature over the training batches and over the evaluation batches, as they enter the model. Nearly all features are shifted by more than
their own spread, or several times wider or narrower; where one rule (a factor, a shift, a standardisation, reversed channels, also before they were
normalised) maps one to the other, it is named. Of words
and categories, the ids at each position are counted: the same shares under other ids are another vocabulary. Where training's samples tell evaluation's labels only under other
numbers, or once the channels of pictures are read in opposite order, that is said. Where every feature of what is evaluated (or its targets) has mean 0 and spread 1 to the last digits, it
was scaled by its own numbers, which hides how it differs from training; simple means of training's samples show whether anything is lost by that. It is an illness only if validation does badly.

## Looks like it but is not

- Sampling error of a small validation set: the differences found here are ten times larger and more.
- Augmentation: it moves features by a part of their spread.
- Two tasks after one another, with samples of both kept: the model answers each evaluation as well as its samples allow.
- A drift in time that validation copes with.
- Validation that was scaled by itself, of data that was split by chance: both have the same numbers but for a few hundredths.
- Predictions after training, beside a validation that fits: that is `serving-skew`.
- What is evaluated once training has gone over to other samples (fine-tuning, another task).

## Fix

Prepare validation data with the very same steps, and with the numbers that were measured on the training data.

## References

- https://scikit-learn.org/stable/common_pitfalls.html (inconsistent preprocessing).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from sickbay.causes.accuracies import accurate
from sickbay.causes.data_maps import SAME, Difference, difference, other_names, other_words, strangers
from sickbay.causes.evaluated import evaluations, where
from sickbay.causes.evidence import at, from_sign, hint, located, strong
from sickbay.causes.own_scale import ONCE, own_scale
from sickbay.causes.registry import cause
from sickbay.causes.serving import is_served, new_data
from sickbay.facts import DataProbe, EvaluatedExamples, EvaluationData
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fitted import applied, fitted_anew
from sickbay.script.fixing import mend
from sickbay.script.prepared import sides
from sickbay.script.prepared_alike import at_the_door, left_out, numbered, set_up, turned
from sickbay.signs import Signs
from sickbay.signs.curves import fell, start
from sickbay.signs.losses import supervised, training_losses

LAST = 3
"""Evaluations that say what a model knows in the end, or that it never knew anything."""
FAR = 1.5
"""Validation loss against training loss, where no sign speaks: clearly worse."""
LESS, ERRORS = 0.15, 4.0
"""...or that share of answers fewer is right, and more than sampling gives."""


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
        return
    found = _found(record)
    if found is not None:
        different, shown, place = found
        yield strong(f"what is evaluated{located(shown)} {different.text}", place or shown)
        yield from_sign("hint", trouble) if trouble is not None else hint("validation is far worse than training")


def _found(record: Record) -> tuple[Difference, Place | None, Place | None] | None:
    """The difference, where it is shown to the model, and where it is made, if the text tells."""
    for data in evaluations(record):
        if is_served(record, data) or _of_later_data(record, data):
            continue
        if different := difference(data):
            return different, where(record, data), _turned(record, data) if different.turned else _prepared(record, data)
        if different := other_words(data):
            return different, where(record, data), _numbered(record, data)
    for data in evaluations(record):
        if not is_served(record, data) and not _of_later_data(record, data) and (own := own_scale(record, data)) is not None:
            return own, where(record, data), _fitted(record, data)
    probe = _not_answered(record)
    found = other_names(probe) or strangers(probe)
    if found is None:
        return None
    different, shown = found
    made = _turned if different.turned else _numbered
    places = (made(record, d) for d in record.facts.evaluation_data if shown in (d.place, d.called_from))
    return different, shown, next(places, None)


def _of_later_data(record: Record, data: EvaluationData) -> bool:
    """It is evaluated since training went over to other samples: what training was at first says nothing of it."""
    return any(new_data(p) and p.first <= data.first for p in record.facts.phases[1:])


def _not_answered(record: Record) -> DataProbe | None:
    """What a sample of the data showed, without the evaluations whose labels the model itself tells as well as they can be told: what it was trained on (another stage, a task that
    it was tuned for later) holds there, whatever the samples say that happened to be kept."""
    probe = record.facts.data_probe
    last = [float(np.median(s.values[-LAST:])) for s in record.series_like("accuracy/eval") if len(s)]
    if probe is None or not last:
        return probe
    return replace(probe, evaluations=tuple(e for e in probe.evaluations if e.renamed is None or e.relation is None or min(last) < _half_way(e)))


def _half_way(e: EvaluatedExamples) -> float:
    """From what training's samples tell of it to what its own do."""
    across, own = (e.renamed.right, e.relation.score) if e.renamed is not None and e.relation is not None else (1.0, 1.0)
    return (across + max(own, across)) / 2


def _prepared(record: Record, data: EvaluationData) -> Place | None:
    """Where one side's data is prepared otherwise."""
    door = at_the_door(record, data)
    return door.place if door is not None else set_up(sides(record, data))


def _turned(record: Record, data: EvaluationData) -> Place | None:
    """Where channels are turned round for one side only."""
    given = sides(record, data)
    return turned(given) or set_up(given)


def _fitted(record: Record, data: EvaluationData) -> Place | None:
    """Where validation's own numbers are taken for scaling."""
    return fitted_anew(sides(record, data), labels=data.own_scale is None)


def _numbered(record: Record, data: EvaluationData) -> Place | None:
    """Where words or classes get other numbers."""
    given = sides(record, data)
    return numbered(given) or set_up(given)


def _worse(record: Record) -> bool:
    train, evaluated = record.series("loss/train"), record.series("loss/eval")
    if len(train) < 20 or len(evaluated) < 1:
        return _less_right(record)
    last = float(np.median(train.values[-max(5, len(train) // 10) :]))
    return (float(np.median(evaluated.values[-LAST:])) > FAR * last + 1e-3 and last > 0) or _left_behind(record)


def _left_behind(record: Record) -> bool:
    """Training has only begun to fall, and validation has not moved below where an untrained model is."""
    evaluated = record.series("loss/eval").values
    begin = next((start(c).value for c, loss in training_losses(record) if c.name == "loss/train" and supervised(loss) and fell(c)), None)
    return begin is not None and len(evaluated) >= LAST and float(np.min(evaluated)) > begin > 0


def _less_right(record: Record) -> bool:
    """The same where only the share of right answers is known."""
    train = record.series("accuracy/train").values
    if len(train) < LAST:
        return False
    known = float(np.median(train[-max(LAST, len(train) // 5) :]))
    shares = [(float(np.median(s.values[-LAST:])), e.samples) for e, s in accurate(record)]
    return any(known - share > max(LESS, ERRORS * (share * (1 - share) / max(n, 1)) ** 0.5) for share, n in shares)


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    found = _found(record)
    if found is None:
        return Fix(SAME.cure, SAME.snippet, "advice")
    different, shown, place = found
    doors = [door for d in evaluations(record) if where(record, d) == shown and (door := at_the_door(record, d)) is not None and door.place == place]
    if doors:
        return mend(
            f"give the model what training gives it{located(place)}: its data is prepared already", doors[0].diff(), different.snippet, "consent"
        )
    if different.cure == ONCE:
        diffs = [text for d in evaluations(record) if where(record, d) == shown and (text := applied(sides(record, d), place))]
        return mend(different.cure, next(iter(diffs), ""), different.snippet, "consent")
    missing = [m for d in evaluations(record) if where(record, d) == shown and (m := left_out(sides(record, d))) is not None and m.place == place]
    if not missing:
        return mend(different.cure, "", different.snippet)
    step = missing[0].source.place(missing[0].step.lineno)
    return mend(
        f"only training data goes through {at(step)} (`{step.text}`): do the same to validation data", missing[0].diff(), different.snippet, "consent"
    )
