"""Samples of the training set are in the validation set too.

## What happens

The model has seen these samples with their answers, so what is measured on them is memory. The score looks better than it will be on new data, and the
moment from which the model only memorises cannot be seen.

## How we know

Proof: rows that evaluation gave to the model are equal, number for number, to rows that it was trained on, while others are not; or the
first pass met no such row and a later one does, because the split is drawn anew for each epoch, or for the next stage of the same model's training. Or
the parts that the two loaders deal out of one data set (`Subset`, `SubsetRandomSampler`) have indices in common, as where each loader draws a split of its own.

Proof, too: windows of evaluation lie between windows of training that overlap with them. Most stretches of their numbers stand in these, verbatim, further back in one and further
ahead in another; so it comes where overlapping windows are cut from a recording first and divided at random then.

Strong: many evaluated samples lie far closer to a few training samples than to all others, as copies with a little noise do that were made before the split.

## Looks like it but is not

- A pass over the training data to measure training accuracy: all of its rows are known (or, where only a part of training was watched, all of that part is
  among them), and it comes from the training loader or bears its name.
- Pairs and triplets of known samples: the rows are known, the pairs are new. Only a loader of its own that gives nothing but training rows counts then.
- Near samples that are simply of one class (a person's ten pictures), that repeat because the signal does, or that lie on the grid of categories and counts.
- The first windows behind the place where a recording is cut in two, and windows that are evaluated before they are learned from, as a series goes on: what they share with training
  stands further ahead there, never further back.
- Signals that repeat themselves, silence and padding: the same numbers recur by themselves.
- Inputs of few possible values (states of a small world, short token sequences), where equal rows are chance.
- A graph, all of whose nodes the model sees in training and evaluation alike; only the answers that are asked for differ.
- What runs without gradients on every step: an agent that acts before it learns from the same states, targets, mining of hard samples.
- Cross-validation with a new model, a state that is loaded again, or weights that are drawn anew for each fold (set back by hand, the training loss begins at its top again).
- A last training on all samples, after validation has chosen what to keep: no row is evaluated after it was trained on.

## Fix

Split first, then oversample, augment or cut into windows; remove duplicates before the split; split by group where samples belong together. Split once: a second
stage, or a run that goes on, needs the parts of the first.

## References

- Kapoor and Narayanan 2023, Leakage and the reproducibility crisis in machine-learning-based science, section on duplicates across splits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from sickbay.causes.evaluated import TRAIN, VALIDATION, built_once, evaluations, held_out, names, shown_in, split_at, where
from sickbay.causes.evidence import at, first_place, hint, listed, located, proof, strong
from sickbay.causes.registry import cause
from sickbay.facts import EvaluationData, NearCopies
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.dealt import dealt_from
from sickbay.script.fixing import Edit, Source, called, keyword, mend, source_at
from sickbay.script.kept_apart import copied, dealt_at_random, drawn_twice, joined, parted
from sickbay.script.prepared import sides
from sickbay.signs import Signs
from sickbay.signs.curves import start
from sickbay.signs.losses import judged_losses

ENOUGH = 10
"""Different rows: a few equal ones (empty pictures, tracks that stand still) are in many data sets."""
SHARE = 0.02
"""...and of all rows: beyond it a score is moved by more than its own sampling error of a few hundred samples."""
NEAR, BEYOND_CHANCE = 0.3, 5.0
"""Of the evaluated samples, those with near copies: 98 % where each sample was copied three times before the split, 32 % where noise of the copies was nearly
as large as the distance between samples; at most 3 % in digits, tables, clusters and windows that were divided well."""
OVERLAPPING = 0.3
"""Of the evaluated windows, those between two of training's: four fifths or more where windows that overlap by half or more are divided at random, 44 % where a third of windows that just
overlap by half is held out; none where recordings are divided, or cut in two."""
ALL = 0.98
WIDTH, WIDTH_OF_WHOLE = 3, 16
"""Numbers that a row must have for equality to mean anything: three with fractions, sixteen without."""
SPLIT_FIRST = "x_train, x_val, y_train, y_val = train_test_split(x, y, stratify=y)\n# oversample or augment x_train only"
SPLIT_ONCE = "train_set, val_set = random_split(data, [0.8, 0.2], generator=torch.Generator().manual_seed(0))"
WINDOWS_LAST = (
    "train_recordings, val_recordings = recordings[:-k], recordings[-k:]\nx_train, x_val = windows(train_recordings), windows(val_recordings)"
)
COVERS = 0.9
"""Of the training rows that were seen, those in the evaluation: then all of training may be in it."""
NEW_MODEL = "for train, val in folds.split(x, y):\n    model = Net()\n    optimizer = torch.optim.Adam(model.parameters())"
AROUND, LEARNED = 10, 0.1
"""Training losses on either side of a step, and the part of the first loss by which it must have fallen until then."""
MET = 0.5
"""Of the validation set, samples that had been trained on before a pass: where batches are drawn at random, an epoch meets 63 % of all samples."""
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
        folds = None if data.found_first else built_once(record, data)  # what the first fold had met already is no matter of the model
        place = copied(given) or joined(given) or folds or drawn_twice(given) or parted(given) or shown
        text = f"{data.found:,} of {data.rows:,} rows that are evaluated{located(shown)} are rows of the training data, number for number"
        rows, found = _without_whole_batches(data)
        if data.found_distinct >= ENOUGH and _found_partly(rows, found) and (data.train_again >= KNOWN or _not_training(record, data)):
            yield proof(text, place, found=data.found, rows=data.rows)
            if data.samples:
                yield hint(f"these are samples {listed([str(i) for i in data.samples], 12)} of the evaluated data set")
            return
        later = _divided_anew(record, data) if held_out(record, data) else None
        if later is not None:
            yield proof(
                f"no row of the first pass that is evaluated{located(shown)} had been trained on, but {later} had: "
                "training and validation are divided anew while the model stays",
                split_at(record) or built_once(record, data) or place,
                found=data.found_later or data.anew_found,
                rows=data.rows,
            )
            return
        if _parts_overlap(record, data):
            text = f"{data.part_shared:,} of {data.part:,} samples that are evaluated{located(shown)} are in the part of the data set that the model had been trained on"
            yield proof(
                f"{text}, by their indices: the two parts were not cut from one and the same split", place, found=data.part_shared, rows=data.part
            )
            return
        if (windows := data.overlap) is not None and windows.found >= max(ENOUGH, OVERLAPPING * windows.rows) and held_out(record, data):
            text = f"{windows.found:,} of {windows.rows:,} windows that are evaluated{located(shown)} lie between windows of training that overlap with them"
            yield proof(
                f"{text}: {windows.covered:.0%} of their stretches of {windows.steps} steps (median) stand there, number for number, further back in one and further ahead in another",
                parted(given) or dealt_at_random(given) or split_at(record) or shown,
                found=windows.found,
                rows=windows.rows,
            )
            return
        if (near := _near_copies(record, data)) is not None and held_out(record, data):
            text = f"{near.found:,} of {near.rows:,} samples that are evaluated{located(shown)} have near copies among the training samples: a few lie {near.closer:.1f} times closer to them than the next"
            yield strong(f"{text} (samples that merely lie dense: {near.by_chance:.1%})", place, found=near.found, rows=near.rows, closer=near.closer)
            return
        clean = any(d is not data and d.rows >= ENOUGH and d.found < SHARE * d.rows for d in record.facts.evaluation_data)
        from_loader = data.loader is not None and data.found_distinct >= ENOUGH
        if from_loader and data.found >= ALL * data.rows and (_own_name(record, data) or (held_out(record, data) and not clean)):
            yield strong(f"{text}: all of the validation set", place, found=data.found, rows=data.rows)
            return
        if data.found_distinct >= ENOUGH and data.found >= ALL * data.rows and not clean and _called_validation(record, data):
            yield strong(f"{text}: all of what the script calls validation", place, found=data.found, rows=data.rows)
            return


def _not_training(record: Record, data: EvaluationData) -> bool:
    """Of training only a part was seen, so that a part found may be all of it: not if a loader of its own lacks some of that part, or is named for something else."""
    return data.loader is not None and (data.found_distinct < COVERS * data.train_distinct or held_out(record, data))


def _near_copies(record: Record, data: EvaluationData) -> NearCopies | None:
    """What the sample of this evaluation showed, where it says enough: a few near ones, as films and visits of one person bring them, move no score. Of several trainings (folds, each of
    them scaled by its own numbers) the samples of all lie together, and one's validation is the other's training."""
    if len(record.facts.randomness.starts) > 1:
        return None
    probe = record.facts.data_probe
    told = [e.copies for e in probe.evaluations if shown_in(data, e)] if probe else []
    near = told[0] if told else None
    return near if near is not None and near.found >= max(ENOUGH, NEAR * near.rows, BEYOND_CHANCE * near.by_chance * near.rows) else None


def _parts_overlap(record: Record, data: EvaluationData) -> bool:
    """Two loaders deal out parts of one data set that have samples in common, and some rows were met: an index alone tells nothing where samples are made anew. A
    part that lies in training's as a whole may be meant so; of several trainings one's validation is the other's training."""
    meant = bool(TRAIN.search(names(record, data))) or not held_out(record, data) or len(record.facts.randomness.starts) > 1
    met = min(max(data.found_first or 0, data.found_later), data.found_distinct)
    return not meant and met >= ENOUGH <= data.part_shared and _found_partly(data.part, data.part_shared)


def _divided_anew(record: Record, data: EvaluationData) -> str | None:
    """Which rows of a later pass had been trained on, where none of the first had."""
    if (data.found_first or 0) >= SHARE * data.rows:
        return None
    if data.found_first is not None and data.found_distinct >= ENOUGH and data.found_later >= max(ENOUGH, SHARE * data.rows):
        return f"{data.found_later:,} rows of the second"
    if data.anew_found >= max(ENOUGH, SHARE * data.anew_rows) and _went_on(record, data.anew_after):
        return f"{data.anew_found:,} of {data.anew_rows:,} rows of a later one (after step {data.anew_after:,})"
    return None


def _went_on(record: Record, step: int) -> bool:
    """Training went on after this step where it had been: weights that were set back by hand (another fold) begin at the top again."""
    for c, _ in judged_losses(record):
        before, after = c.values[c.steps <= step][-AROUND:], c.values[c.steps > step][:AROUND]
        if len(before) < AROUND or len(after) < AROUND:
            continue
        top, low = start(c).value, float(np.median(before))
        return top - low > LEARNED * abs(top) and float(np.median(after)) < (top + low) / 2
    return False


def _own_name(record: Record, data: EvaluationData) -> bool:
    """The loader itself is called a validation loader, so that no other data can be meant."""
    return any(x.index == data.loader and VALIDATION.search(x.variable.replace("_", " ")) for x in record.facts.loaders)


def _called_validation(record: Record, data: EvaluationData) -> bool:
    """Without a loader: what the call is given, or what the loops around it go through, is called validation, and nothing else. Its rows were trained on before a pass
    (a fold's may be trained on by other folds' models, new pairs are made of known samples), and they are a part of training's: a graph is given to the model as a
    whole, and which of its answers count is chosen afterwards."""
    met = max(data.found_first or 0, data.found_later)
    a_part = ENOUGH <= data.distinct < COVERS * data.train_distinct
    if data.loader is not None or len(record.facts.randomness.starts) > 1 or not a_part or met < max(ENOUGH, MET * data.distinct):
        return False
    text = " ".join([names(record, data), *((dealt_from(record, data.place, t) or "").replace("_", " ") for t in data.texts[:1])])
    return bool(VALIDATION.search(text)) and not TRAIN.search(text)


def _tells(data: EvaluationData) -> bool:
    """Whether equal rows would mean anything here."""
    if not data.whole_numbers:
        return data.width >= WIDTH
    by_chance = data.train_distinct * data.train_twins
    """Rows of the training set that a new row would equal, if its rows were drawn like those of one training batch."""
    share = max(data.found / max(data.rows, 1), data.anew_found / max(data.anew_rows, 1))
    return data.width >= WIDTH_OF_WHOLE and share > 0.05 + 5 * by_chance


def _without_whole_batches(data: EvaluationData) -> tuple[int, int]:
    """One line may measure training and validation data in turn: batches that are known as a whole are then training's."""
    if data.loader is not None or data.batches == data.whole_batches or data.batches == 1:
        return data.rows, data.found
    return data.rows - data.rows_in_whole_batches, max(data.found - data.rows_in_whole_batches, 0)


def _found_partly(rows: int, found: int) -> bool:
    return SHARE * rows <= found < ALL * rows


def _drawn_once(source: Source, split: Place) -> Edit | None:
    """The split with a seed of its own."""
    for call in source.calls("random_split", "train_test_split", "randperm", line=split.line):
        name, seed = ("random_state", "0") if called(call) == "train_test_split" else ("generator", "torch.Generator().manual_seed(0)")
        return source.giving(call, name, seed) if keyword(call, name) is None else None
    return None


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    given = [s for d in evaluations(record) if (s := sides(record, d)) is not None]
    overlapping = (s for d in evaluations(record) if _parts_overlap(record, d) and (s := sides(record, d)) is not None)
    drawn = (split_at(record), *map(drawn_twice, given), *map(parted, overlapping))
    split = next((p for p in drawn if p is not None and p == first_place(evidence)), None)
    if split is not None:
        source = source_at(record, split)
        diff = source.diff(_drawn_once(source, split)) if source is not None else ""
        return mend("divide the data once and use the same parts from then on, or draw them with a fixed seed", diff, SPLIT_ONCE, "consent")
    if any("lie between windows" in e.text for e in evidence):
        return mend("divide the recordings (or people, or days) first, and cut each side into windows of its own", "", WINDOWS_LAST)
    text, snippet = "split before anything that copies samples (oversampling, augmentation, windows), and drop duplicates first", SPLIT_FIRST
    if any((built := built_once(record, d)) is not None and built == first_place(evidence) for d in evaluations(record)):
        return Fix("build a new model, and a new optimizer, for each fold", NEW_MODEL, "advice")
    copies = next((p for s in given if (p := copied(s)) is not None and p == first_place(evidence)), None)
    if copies is not None:
        split = next((p for s in given if (p := parted(s)) is not None), None)
        text = (
            f"split first, and copy training's rows only: move what {at(copies)} does below the split{located(split and replace(split, guess=False))}"
        )
    return mend(text, "", snippet)
