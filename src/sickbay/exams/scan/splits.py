"""What the validation loader shares with the training loader: equal samples, samples that are nearly the same, and scales that differ."""

from __future__ import annotations

import numpy as np

from sickbay.exams.scan.alike import Pictures, Texts
from sickbay.exams.scan.book import LoaderBook
from sickbay.facts.data import EvaluationData
from sickbay.facts.scan import Twins
from sickbay.observe.numbers import Array
from sickbay.observe.words import shift

MOST_PAIRS = 1000
FEWEST = 50
"""Pictures or texts of each loader, below which nothing can be said of how alike they are by nature."""


def compared(train: LoaderBook, val: LoaderBook) -> tuple[EvaluationData | None, Twins]:
    """Equal rows and scales, as an evaluation during a run would tell them; and the pairs."""
    mine, theirs, rows = val.seen.shared(train.seen)
    distinct = len(np.unique(val.seen.keys))
    known = len(np.unique(train.seen.keys))
    fact = EvaluationData(
        loader=1,
        passes=1,
        rows=rows,
        distinct=distinct,
        found=len(mine),
        found_distinct=len(np.unique(mine)),
        batches=val.batches,
        train_rows=train.rows,
        train_distinct=known,
        train_again=1.0,
        train_twins=_twins(train),
        whole_numbers=train.whole_numbers,
        width=int(np.prod(train.shape)) if train.shape else 0,
        same_shape=train.shape == val.shape,
        shape=train.shape,
        words=shift(train.words, val.words),
        train=train.features.fact(),
        evaluation=val.features.fact(),
    )
    pairs = tuple((int(a), int(b)) for a, b in sorted(zip(mine.tolist(), theirs.tolist(), strict=True))[:MOST_PAIRS])
    return fact, Twins(pairs=pairs, rows=rows, found=len(mine))


def _twins(train: LoaderBook) -> float:
    """How likely two rows of the training data are equal."""
    counts = np.unique(train.seen.keys, return_counts=True)[1].astype(np.float64)
    total = counts.sum()
    return float((counts * (counts - 1)).sum() / max(total * (total - 1), 1.0))


def nearly(train: LoaderBook, val: LoaderBook, exact: Twins) -> Twins | None:
    """Nearly equal pictures or texts, beyond those that are equal; None where there are too few to compare."""
    for by, mine, theirs in (("picture", val.asked.pictures, train.asked.pictures), ("text", val.asked.texts, train.asked.texts)):
        if min(mine.count, theirs.count) < FEWEST:
            continue
        a, numbers = mine.signs()
        b, others = theirs.signs()
        if min(len(a), len(b)) < FEWEST:
            continue
        found = type(mine).nearest(a, b)
        equal = set(exact.pairs)
        hits = [(int(numbers[i]), int(others[at])) for i, at in enumerate(found) if at >= 0]
        fresh = [pair for pair in hits if pair not in equal]
        return Twins(pairs=tuple(fresh[:MOST_PAIRS]), rows=len(a), found=len(fresh), expected=_by_nature(type(mine), b, len(a)), by=by)
    return None


def _by_nature(kind: type[Pictures] | type[Texts], signs: Array, rows: int) -> float:
    """How many of as many samples of the training data itself are nearly the same as another of it: one half is looked up in the other."""
    order = np.random.default_rng(0).permutation(len(signs))
    half = len(signs) // 2
    share = float((kind.nearest(signs[order[:half]], signs[order[half:]]) >= 0).mean())
    return min(share * len(signs) / max(len(signs) - half, 1), 1.0) * rows
