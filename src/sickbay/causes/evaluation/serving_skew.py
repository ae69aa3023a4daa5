"""After training, samples reach the model otherwise prepared than in training and validation.

## What happens

Validation goes through the same steps as training, and looks good. The function that predicts afterwards (for a test file, a request, a folder of images) prepares its inputs by itself: it forgets the division by
255 or the standardisation, uses other numbers, or puts the columns in another order. The model answers without an error, and its answers are worth little.

## How we know

Two ways. The rows that the model is given after training are those of an earlier evaluation under one map, number for number (each times 255, columns in another order): the same samples, prepared in two
ways; and the same weights answer them otherwise. Likewise where every column of every call keeps the order of the evaluation's samples and nothing else: a logarithm is missing, or each request is standardised by its
own mean and spread. Or mean and spread of each feature differ from training's as only a missing step of preparation makes them (times 255, standardised on one side only, channels reversed,
other ids for the same words), while another evaluation's agree with training's.

## Looks like it but is not

- Validation that steers training itself: that is `train-val-mismatch`.
- New data that is merely different (another season, another site): no step of preparation explains it.
- Inputs that are changed on purpose (noise, attacks, flips that are averaged, permuted columns to see what matters): the script says so in its names.
- A few single examples.
- Predictions that come out as well, or the same.

## Fix

One function that prepares samples, for training, validation and serving; save the numbers it needs (means, spreads, the order of columns, the vocabulary) with the weights.

## References

- Sculley et al. 2015, Hidden technical debt in machine learning systems.
- Breck et al. 2017, The ML test score (Monitor 3: training and serving are not skewed).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sickbay.causes.data_maps import Difference, difference, other_words
from sickbay.causes.evaluated import of_training
from sickbay.causes.evidence import located, proof, strong
from sickbay.causes.registry import cause
from sickbay.causes.serving import is_served, meant_to_differ, validated
from sickbay.facts import EvaluationData, Served
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import mend
from sickbay.script.prepared_by import prepared_by
from sickbay.signs import Signs

CHANGED = 0.1
"""Of the answers to the same samples: fewer change by rounding and by chance where a model hardly looks at the input's scale."""
KEPT = 0.1
"""Accuracy by which predictions may be worse than validation's and still be as good."""
LAST_ROWS = 20


@cause(
    code="E605",
    level="evaluation",
    title="samples are prepared otherwise for predictions than for training",
    why="The model is fine and its validation is right, but what it predicts from is not what it was trained on, so its predictions are worth little.",
    explains={"miscalibrated", "majority-class-predictor", "train-mode-in-evaluation"},
    cure=None,
)
def serving_skew(record: Record, signs: Signs) -> Iterator[Evidence]:
    for served in record.facts.served:
        if (found := _same_samples(record, served)) is not None:
            yield found
            return
    for data, different in _prepared_otherwise(record):
        place = _place(data.place, data.called_from, validated(record, data))
        right = _told(record, data)
        yield strong(
            f"what is predicted{located(place)} after training {different.text}; validation{located(_validated_at(record, data))} agrees with training{right}",
            place,
        )
        return


def _same_samples(record: Record, served: Served) -> Evidence | None:
    if (
        meant_to_differ(*served.texts)
        or not _fits(record, served)
        or (served.place == served.reference and served.called_from == served.reference_from)
    ):
        return None
    if (served.answers and served.changed < CHANGED * served.answers) or _as_good(record, served.place, served.called_from):
        return None
    place = served.called_from if served.place == served.reference and served.called_from is not None else served.place
    answers = f"; the same weights answer {served.changed} of {served.answers} of them otherwise" if served.answers else ""
    return proof(
        f"the {served.rows} samples that are predicted{located(place)} after training are those that were evaluated{located(served.reference)}, but {served.map}{answers}",
        prepared_by(record, place) or place,
        rows=served.rows,
        changed=served.changed,
    )


def _fits(record: Record, served: Served) -> bool:
    """What they are compared with is prepared as training's samples are."""
    for data in record.facts.evaluation_data:
        if (data.place, data.called_from, data.loader) == (served.reference, served.reference_from, served.reference_loader):
            return data.same_shape and difference(data) is None and other_words(data) is None
    return False


def _prepared_otherwise(record: Record) -> Iterator[tuple[EvaluationData, Difference]]:
    for data in record.facts.evaluation_data:
        if not is_served(record, data) or of_training(record, data) or data.rows < LAST_ROWS or meant_to_differ(*data.texts):
            continue
        different = difference(data) or other_words(data)
        if different is not None and not _as_good(record, data.place, data.called_from) and (different.made or _told(record, data)):
            yield data, different


def _accuracies(record: Record, place: Place | None, called_from: Place | None) -> tuple[float | None, float | None]:
    """Answers that are right, as the script judges them: of these predictions, and of the best evaluation beside them."""
    own: float | None = None
    best: float | None = None
    for e in record.facts.evaluations:
        series = record.series(f"accuracy/eval@{e.index}" if e.index else "accuracy/eval")
        if not len(series):
            continue
        last = float(series.values[-1])
        if e.model_at == place and e.called_from == called_from:
            own = last
        else:
            best = last if best is None else max(best, last)
    return own, best


def _as_good(record: Record, place: Place | None, called_from: Place | None) -> bool:
    own, best = _accuracies(record, place, called_from)
    return own is not None and best is not None and own >= best - KEPT


def _told(record: Record, data: EvaluationData) -> str:
    """How much worse the predictions are, where the script judges them."""
    own, best = _accuracies(record, data.place, data.called_from)
    return (
        f"; {100 * own:.0f} % of these answers are right, and {100 * best:.0f} % there"
        if own is not None and best is not None and own < best - KEPT
        else ""
    )


def _validated_at(record: Record, data: EvaluationData) -> Place | None:
    found = validated(record, data)
    return found.place if found is not None else None


def _place(place: Place | None, called_from: Place | None, validation: EvaluationData | None) -> Place | None:
    """Where one line calls the model for both, the line that gives it these samples."""
    return called_from if validation is not None and validation.place == place and called_from is not None else place


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    text = "prepare samples with one function, for training, validation and serving, and keep the numbers that it needs with the weights"
    served = next((s for s in record.facts.served if _same_samples(record, s) is not None), None)
    if served is not None:
        return mend(f"{text}; what would undo the difference is shown", "", served.back)
    different = next((d for _, d in _prepared_otherwise(record)), None)
    if different is None:
        return Fix(text, "x = prepare(raw)  # the very function that made training's inputs", "advice")
    return mend(text, "", replace(different).snippet.replace("x_val", "x"))
