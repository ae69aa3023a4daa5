"""Samples of the training set are in the validation set too.

## What happens

The model has seen these samples with their answers, so what is measured on them is memory. The score looks better than it will be on new data, and the
moment from which the model only memorises cannot be seen.

## How we know

Proof: rows that evaluation gave to the model are equal, number for number, to rows that it was trained on, while others are not; or the
first pass met no such row and the next one does, because the split is drawn anew for each epoch.

## Looks like it but is not

- A pass over the training data to measure training accuracy: all of its rows are known, and it comes from the training loader or bears its name.
- Pairs and triplets of known samples: the rows are known, the pairs are new. Only a loader of its own that gives nothing but training rows counts then.
- Inputs of few possible values (states of a small world, short token sequences), where equal rows are chance.
- What runs without gradients on every step: an agent that acts before it learns from the same states, targets, mining of hard samples.
- Cross-validation with a new model, a state that is loaded again, or weights that are drawn anew for each fold.
- A last training on all samples, after validation has chosen what to keep: no row is evaluated after it was trained on.

## Fix

Split first, then oversample, augment or cut into windows; remove duplicates before the split; split by group where samples belong together.

## References

- Kapoor and Narayanan 2023, Leakage and the reproducibility crisis in machine-learning-based science, section on duplicates across splits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sickbay.causes.evaluated import VALIDATION, evaluations, held_out, split_at, where
from sickbay.causes.evidence import at, first_place, located, proof, strong
from sickbay.causes.fixing import mend
from sickbay.causes.kept_apart import copied, parted
from sickbay.causes.prepared import sides
from sickbay.causes.registry import cause
from sickbay.facts import EvaluationData
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.signs import Signs

ENOUGH = 10
"""Different rows: a few equal ones (empty pictures, tracks that stand still) are in many data sets."""
SHARE = 0.02
"""...and of all rows: beyond it a score is moved by more than its own sampling error of a few hundred samples."""
ALL = 0.98
WIDTH, WIDTH_OF_WHOLE = 3, 16
"""Numbers that a row must have for equality to mean anything: three with fractions, sixteen without."""
SPLIT_FIRST = "x_train, x_val, y_train, y_val = train_test_split(x, y, stratify=y)\n# oversample or augment x_train only"
KNOWN = 0.9
"""Training's newest rows were met before: then all of its data is known, and a part that is not found is not training data."""


@cause(
    code="D106",
    level="data",
    title="validation holds samples of the training set",
    why="The model is asked what it was told: the score is too good, and overfitting stays hidden.",
    explains={"overfitting", "val-rising", "train-val-gap"},
    cure=None,
)
def train_val_leakage(record: Record, signs: Signs) -> Iterator[Evidence]:
    for data in (d for d in evaluations(record) if _tells(d)):
        shown = where(record, data)
        given = sides(record, data)
        place = copied(given) or parted(given) or shown
        text = f"{data.found:,} of {data.rows:,} rows that are evaluated{located(shown)} are rows of the training data, number for number"
        rows, found = _without_whole_batches(data)
        if data.found_distinct >= ENOUGH and _found_partly(rows, found) and (data.train_again >= KNOWN or data.loader is not None):
            yield proof(text, place, found=data.found, rows=data.rows)
            return
        if held_out(record, data) and _divided_anew(data):
            yield proof(
                f"no row of the first pass that is evaluated{located(shown)} had been trained on, but {data.found_later:,} rows of the second had: "
                "training and validation are divided anew while the model stays",
                split_at(record) or place,
                found=data.found_later,
                rows=data.rows,
            )
            return
        clean = any(d is not data and d.rows >= ENOUGH and d.found < SHARE * d.rows for d in record.facts.evaluation_data)
        from_loader = data.loader is not None and data.found_distinct >= ENOUGH
        if from_loader and data.found >= ALL * data.rows and (_own_name(record, data) or (held_out(record, data) and not clean)):
            yield strong(f"{text}: all of the validation set", place, found=data.found, rows=data.rows)
            return


def _divided_anew(data: EvaluationData) -> bool:
    clean = data.found_first is not None and data.found_first < SHARE * data.rows
    return clean and data.found_distinct >= ENOUGH and data.found_later >= max(ENOUGH, SHARE * data.rows)


def _own_name(record: Record, data: EvaluationData) -> bool:
    """The loader itself is called a validation loader, so that no other data can be meant."""
    return any(x.index == data.loader and VALIDATION.search(x.variable.replace("_", " ")) for x in record.facts.loaders)


def _tells(data: EvaluationData) -> bool:
    """Whether equal rows would mean anything here."""
    if not data.whole_numbers:
        return data.width >= WIDTH
    by_chance = data.train_distinct * data.train_twins
    """Rows of the training set that a new row would equal, if its rows were drawn like those of one training batch."""
    return data.width >= WIDTH_OF_WHOLE and data.found > (0.05 + 5 * by_chance) * data.rows


def _without_whole_batches(data: EvaluationData) -> tuple[int, int]:
    """One line may measure training and validation data in turn: batches that are known as a whole are then training's."""
    if data.loader is not None or data.batches == data.whole_batches or data.batches == 1:
        return data.rows, data.found
    return data.rows - data.rows_in_whole_batches, max(data.found - data.rows_in_whole_batches, 0)


def _found_partly(rows: int, found: int) -> bool:
    return SHARE * rows <= found < ALL * rows


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    text, snippet = "split before anything that copies samples (oversampling, augmentation, windows), and drop duplicates first", SPLIT_FIRST
    given = [s for d in evaluations(record) if (s := sides(record, d)) is not None]
    copies = next((p for s in given if (p := copied(s)) is not None and p == first_place(evidence)), None)
    if copies is not None:
        split = next((p for s in given if (p := parted(s)) is not None), None)
        text = (
            f"split first, and copy training's rows only: move what {at(copies)} does below the split{located(split and replace(split, guess=False))}"
        )
    return mend(text, "", snippet)
