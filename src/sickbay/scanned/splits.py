"""The validation loader beside the training loader: shared samples, another scale, other classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sickbay.causes import find
from sickbay.causes.data.train_val_leakage import ALL, WIDTH, WIDTH_OF_WHOLE
from sickbay.causes.data_maps import Difference, difference, other_names, other_words, strangers
from sickbay.causes.evidence import listed, shape
from sickbay.conclude import suspect
from sickbay.facts.data import EvaluationData
from sickbay.facts.scan import Finding, LoaderSeen, Scan, Twins
from sickbay.record.reader import Record
from sickbay.scanned.findings import SHOWN, finding, from_suspicion, share, without
from sickbay.signs import Signs

ENOUGH, SHARE = 10, 0.02
"""Of samples that are nearly the same: as for equal ones (causes/data/train_val_leakage.py)."""
NOT_BY_CHANCE = 10.0
"""Times as many equal samples as training's rows, which equal each other now and then, let expect."""
BEYOND = 3.0
"""Times as many as training's own samples are alike by nature."""
FAR = 10.0
"""Times the spread: a series that grows, or another season, differs by less."""
OWN = 0.2
"""Spread of the logarithms of the features' scales: the columns of a series' windows differ by a few per cent, pixels and measured columns by far more."""
SURE = ("255", "channels are reversed")
"""Maps that are made by a line of code, not by nature."""
WIDER = 3.0
"""Times the spread, from which data is not standardised: a series that has drifted from where it was standardised keeps most of its spread."""


def splits(scan: Scan, record: Record) -> Iterator[Finding]:
    if scan.val is None or scan.overlap is None or scan.exact is None:
        return
    leak = suspect(find("train-val-leakage"), record, Signs())
    if leak is not None:
        yield _leak(scan, scan.val, from_suspicion(leak, scan.val), scan.exact)
    else:
        yield from _few(scan, scan.val, scan.overlap, scan.exact)
    if scan.near is not None:
        yield from _near(scan.val, scan.near)
    yield from _mismatch(scan, scan.val, scan.overlap)
    yield from _classes(scan.train, scan.val)


def _pairs(pairs: tuple[tuple[int, int], ...]) -> str:
    return listed([f"{a} is {b}" for a, b in pairs], SHOWN)


def _leak(scan: Scan, val: LoaderSeen, found: Finding, exact: Twins) -> Finding:
    part = f" (one sample in {round(1 / val.part):,} was compared)" if val.part < 1 or scan.train.part < 1 else ""
    text = f"{exact.found:,} of {exact.rows:,} validation samples are training samples, number for number{part}; in validation and training: {_pairs(exact.pairs)}"
    indices = tuple(dict.fromkeys(a for a, _ in exact.pairs))
    return replace(found, text=text, indices=indices, diff=without(indices, val) or found.diff)


def _few(scan: Scan, val: LoaderSeen, data: EvaluationData, exact: Twins) -> Iterator[Finding]:
    """Equal samples that a run would not be told of, where less is known: few of them, or rows of whole numbers, which are equal by chance more easily. Here training's own rows tell how often they are."""
    by_chance = data.train_distinct * data.train_twins * exact.rows
    if not exact.found or exact.found < NOT_BY_CHANCE * by_chance or data.width < (WIDTH_OF_WHOLE if data.whole_numbers else WIDTH):
        return
    many = data.found_distinct >= ENOUGH and SHARE * exact.rows <= exact.found < ALL * exact.rows
    made = finding(
        "train-val-leakage", "likely" if many else "possible", "",
        "split before anything that copies samples, and drop duplicates first", val, title="validation holds samples of the training set",
    )  # fmt: skip
    yield _leak(scan, val, made, exact)


def _near(val: LoaderSeen, near: Twins) -> Iterator[Finding]:
    if near.found < max(ENOUGH, SHARE * near.rows) or near.found < BEYOND * near.expected:
        return
    indices = tuple(a for a, _ in near.pairs)
    yield finding(
        "train-val-leakage", "likely",
        f"{near.found:,} of {near.rows:,} validation {near.by}s are nearly the same as a training {near.by} (of as many training {near.by}s, {near.expected:.0f} would be like another); "
        f"in validation and training: {_pairs(near.pairs)}",
        "look at some of these pairs; split by what they come from (the film, the person, the document), before anything that copies samples", val,
        title=f"validation holds near copies of training {near.by}s", indices=indices, diff=without(indices, val),
    )  # fmt: skip


def _mismatch(scan: Scan, val: LoaderSeen, data: EvaluationData) -> Iterator[Finding]:
    if not data.same_shape and all(t.shapes == 1 for t in (*scan.train.tensors, *val.tensors) if t.role == "input"):
        mine = next((t.shape for t in val.tensors if t.role == "input"), ())
        yield finding(
            "train-val-mismatch", "possible", f"samples have the shape {shape(mine)}, in training {shape(data.shape)}",
            "use one preparation for both, unless training is meant to see crops", val, title="validation samples have another shape",
        )  # fmt: skip
    sure: tuple[Difference, bool] | None = None
    if scan.outlying:
        pass  # a few broken samples give their side another scale, and neighbours of their own
    elif (by_scale := difference(data)) is not None:
        sure = by_scale, _by_code(by_scale, data) or _factor(data) > FAR
    elif (by_words := other_words(data)) is not None:
        sure = by_words, True
    elif (by_labels := other_names(scan.probe) or strangers(scan.probe)) is not None:
        sure = by_labels[0], by_labels[0].text.startswith("numbers its classes")
    if sure is not None:
        told, certain = sure
        yield finding("train-val-mismatch", "likely" if certain else "possible", f"validation data {told.text}", told.cure, val, diff=told.snippet)


def _by_code(told: Difference, data: EvaluationData) -> bool:
    """Whether what maps one to the other is a line of code, and not the course of time."""
    if "standardised" in told.text:
        return _factor(data) > WIDER
    return any(word in told.text for word in SURE) or ("the same data times" in told.text and _different_scales(data))


def _factor(data: EvaluationData) -> float:
    """How many times as wide validation's features are, or how many times narrower."""
    if data.train is None or data.evaluation is None:
        return 1.0
    a, b = np.array(data.train.std), np.array(data.evaluation.std)
    if len(a) != len(b) or not ((a > 0) & (b > 0)).any():
        return 1.0
    ratio = float(np.median((b / np.maximum(a, 1e-30))[(a > 0) & (b > 0)]))
    return max(ratio, 1 / ratio)


def _different_scales(data: EvaluationData) -> bool:
    """Whether training's features have scales of their own: one factor for all of them is then no growth of a series, whose columns are one and the same feature."""
    std = np.array(data.train.std if data.train is not None else ())
    return float(np.std(np.log(std[std > 0]))) > OWN if (std > 0).any() else False


def _classes(train: LoaderSeen, val: LoaderSeen) -> Iterator[Finding]:
    if train.target_kind != "classes" or val.target_kind != "classes" or train.ended_by or train.part < 1:
        return
    new = sorted({c for c, _ in val.histogram} - {c for c, _ in train.histogram})
    total = sum(n for _, n in val.histogram)
    many = sum(n for c, n in val.histogram if c in new)
    if new:
        yield finding(
            "train-val-mismatch", "possible", f"{share(many, total)} of validation's samples have classes that training never shows: {listed([str(c) for c in new], 6)}",
            "split so that every class is in both (stratify), unless new classes are the task", val, title="validation has classes of its own",
        )  # fmt: skip
