"""The validation set is too small for what is read from it.

## What happens

A score on a few dozen samples moves by several per cent when one or two of them flip. The script keeps the best epoch, stops early or lowers the learning rate by such
a score: it follows chance, and the best value is the luckiest one.

## How we know

The evaluation's own number of samples gives the standard error of its accuracy. The script chooses by it, although the best evaluation is within two standard errors of the
typical one; and there are many times as many training samples, of which some could be spared. A handful of samples is too few whatever they showed, for any score.

## Looks like it but is not

- A small validation set that nothing is chosen by, or of a small data set, where there is no choice.
- A score that moves by more than its error: the model does.
- A score that is perfect throughout.

## Fix

Hold out more (a few hundred samples, a tenth of the data), or cross-validate; give every score with its error.

## References

- Cawley and Talbot 2010, On over-fitting in model selection and subsequent selection bias in performance evaluation.
- Varoquaux 2018, Cross-validation failure: small sample sizes lead to large error bars.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

import numpy as np

from sickbay.causes.evaluated import VALIDATION, evaluations, split_at, training_rows, where
from sickbay.causes.evidence import hint, strong
from sickbay.causes.registry import cause
from sickbay.facts import Evaluation
from sickbay.nouns import Evidence, Fix, Place, Series
from sickbay.record.reader import Record
from sickbay.script.fixing import mend
from sickbay.script.written import named_like
from sickbay.signs import Signs
from sickbay.signs.losses import index

SMALL = 60
"""Samples: at 80 % accuracy, one standard error is 5 points and more."""
HANDFUL = 20
"""Samples, each with one answer: one of them is 5 points of an accuracy and more, its standard error at 80 % 9 points, that of a mean loss a quarter of the
spread between samples."""
SPARED = 10
"""Times as many training samples: taking as much again for validation would cost training a tenth."""
PASSES = 5
CHOICES = 3
"""Evaluations among which there is something to choose."""
MOST_ANSWERS = 4
NOWHERE = -1
"""The index of an evaluation that has no series."""
MOVES = 3
"""Times that the score must have changed in the later two thirds of the evaluations: one that stands still does not mislead."""
ERRORS = 2.0
CHOICE = re.compile(
    r"\b(?:if|while)\b[^\n]*[<>][^\n]*\bbest|\bbest\w*\s*=\s*(?:max|min)\s*\(|\bpatience\b|EarlyStopping|ReduceLROnPlateau|ModelCheckpoint|load_best_model",
    re.IGNORECASE,
)
"""The script keeps a best value, waits for one, or has a scheduler wait for one."""


@cause(
    code="D114",
    level="data",
    title="the validation set is too small to choose by",
    why="What is chosen by such a score is chosen by chance, and its best value promises more than the model keeps.",
    explains={"oscillating-loss"},
    cure=None,
)
def small_validation_set(record: Record, signs: Signs) -> Iterator[Evidence]:
    if not any(CHOICE.search(text) for text in record.sources.values()):
        return
    if handful := list(_a_handful(record)):
        yield from handful
        return
    known = {e.index: e for e in record.facts.evaluations}
    for series in record.series_like("accuracy/eval"):
        evaluation = known.get(index(series))
        if evaluation is None or not 1 < evaluation.samples <= SMALL or len(series) < PASSES or _larger(record, evaluation):
            continue
        rows = training_rows(record)
        if rows >= SPARED * evaluation.samples and (numbers := _by_chance(series, evaluation.samples)) is not None:
            best, usual, error = numbers
            yield strong(
                f"validation has {evaluation.samples} samples, so that its accuracy of {100 * usual:.0f} % has a standard error of {100 * error:.0f} points; the script chooses "
                f"by it, and the best of {len(series)} evaluations ({100 * best:.0f} %) is within {ERRORS:.0f} such errors of the usual one",
                _place(record, evaluation),
                samples=evaluation.samples,
                error=error,
            )
            yield hint(f"training has at least {rows:,} samples, {rows // evaluation.samples} times as many")
            return


def _a_handful(record: Record) -> Iterator[Evidence]:
    rows = training_rows(record)
    for evaluation in [*record.facts.evaluations, *_scored_by_hand(record)]:
        few = 1 <= evaluation.samples <= HANDFUL and evaluation.passes >= CHOICES
        if few and rows >= SPARED * evaluation.samples and not _larger(record, evaluation) and _one_answer_each(record):
            yield strong(
                f"the script chooses by {evaluation.passes} evaluations of {evaluation.samples} samples, each of which is {100 / evaluation.samples:.0f} % of the score; "
                f"training has at least {rows:,}",
                _place(record, evaluation),
                samples=evaluation.samples,
                training=rows,
            )
            return


def _scored_by_hand(record: Record) -> Iterator[Evaluation]:
    """Where no loss is computed in evaluation: the samples that the model is shown each time, if they are always the same."""
    for data in evaluations(record) if not record.facts.evaluations else ():
        if data.rows >= 2 * data.distinct:
            yield Evaluation(index=NOWHERE, place=data.called_from or data.place, loader=data.loader, passes=data.passes, samples=data.distinct)


def _one_answer_each(record: Record) -> bool:
    """A text or a picture with an answer for every position holds far more than its rows say."""
    shapes = [head.target_shape for loss in record.facts.losses for head in loss.heads]
    return bool(shapes) and all(math.prod(s[1:]) <= MOST_ANSWERS for s in shapes)


def _by_chance(series: Series, samples: int) -> tuple[float, float, float] | None:
    """Best and usual accuracy and the error, where the one is not clearly better than the other and the score keeps moving."""
    late = series.values[len(series) // 3 :]
    usual, best = float(np.median(late)), float(np.max(series.values))
    error = math.sqrt(max(usual * (1 - usual), 0.0) / samples)
    moves = np.count_nonzero(np.abs(np.diff(late)) > 0.5 / samples)
    return (best, usual, error) if moves >= MOVES and best - usual < ERRORS * error else None


def _larger(record: Record, evaluation: Evaluation) -> bool:
    """The script evaluates more samples elsewhere, and more often than once: it may choose by those."""
    others = [*record.facts.evaluations, *_scored_by_hand(record)]
    return any(e.samples > SMALL and e.passes >= evaluation.passes > 1 for e in others)


def _place(record: Record, evaluation: Evaluation) -> Place | None:
    split, number = split_at(record), named_like(record, evaluation.samples, VALIDATION)
    if number is not None and (split is None or str(evaluation.samples) not in (split.text or "")):  # `test_size=config["val"]`
        return number
    if split is not None:
        return split
    data = next((d for d in evaluations(record) if d.distinct <= SMALL), None)
    return (where(record, data) if data is not None else None) or evaluation.place


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    return mend(
        "hold out a few hundred samples or a tenth of the data, or cross-validate; say every score with its standard error",
        "",
        "n_val = max(200, len(data) // 10)\ntrain_set, val_set = torch.utils.data.random_split(data, [len(data) - n_val, n_val])",
    )
