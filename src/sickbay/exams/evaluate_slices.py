"""Parts of the samples, by any column, and whether the model is worse on them than on the others beyond chance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sickbay.exams.intervals import Z_95, holm, means_differ, paired, shares_differ, wilson
from sickbay.facts.evaluated import SliceScore

Array = NDArray[Any]
FEWEST = 20
"""Samples of a slice, and of all others, from which the two are compared: with fewer, only a collapse could be told."""
MOST_VALUES = 20
"""A column of numbers with more values is cut into quarters; of one with more words, the commonest are taken."""
SURE = 0.05
"""The chance that any slice is called worse though none is (Holm)."""


def slice_scores(columns: Mapping[str, Sequence[Any]], score: Array, *, larger_is_better: bool, shares: bool) -> tuple[SliceScore, ...]:
    """`score` has a number per sample (NaN: not counted); `shares` says that it is right or wrong. Those that are worse come first."""
    found: list[tuple[str, str, Array, Array]] = []
    known = np.isfinite(score)
    for by, values in columns.items():
        for value, inside in parts(values):
            if (inside & known).any():
                found.append((by, value, score[inside & known], score[~inside & known]))
    chances = [_chance(own, others, shares) for _, _, own, others in found]
    tested = [i for i, c in enumerate(chances) if c is not None]
    adjusted = dict(zip(tested, holm([c for c in chances if c is not None]), strict=True))
    told = []
    for i, (by, value, own, others) in enumerate(found):
        low, high = _interval(own, shares)
        mean, rest = float(own.mean()), float(others.mean()) if len(others) else math.nan
        worse = adjusted.get(i, 1.0) < SURE and (mean < rest if larger_is_better else mean > rest)
        told.append(
            SliceScore(by=by, value=value, rows=len(own), score=mean, low=low, high=high, others=rest, chance=adjusted.get(i, 1.0), worse=worse)
        )
    sign = 1 if larger_is_better else -1
    return tuple(sorted(told, key=lambda s: (not s.worse, sign * s.score)))


def parts(values: Sequence[Any]) -> list[tuple[str, Array]]:
    """The parts of a column: its values, or quarters of its numbers, each with which samples belong to it."""
    array = np.asarray(values)
    if array.dtype.kind in "fiu" and len(np.unique(array)) > MOST_VALUES:
        return _quarters(array.astype(np.float64))
    words = np.array([_word(v) for v in values])
    names, counts = np.unique(words, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:MOST_VALUES]
    return [(str(names[i]), words == names[i]) for i in sorted(order, key=lambda i: str(names[i]))]


def _quarters(numbers: Array) -> list[tuple[str, Array]]:
    finite = np.isfinite(numbers)
    edges = np.unique(np.quantile(numbers[finite], (0.25, 0.5, 0.75)))
    place = np.searchsorted(edges, numbers, side="right")
    texts = [f"{e:.3g}" for e in edges]
    names = [f"below {texts[0]}", *(f"{a} to {b}" for a, b in pairwise(texts)), f"from {texts[-1]}"]
    found = [(name, finite & (place == i)) for i, name in enumerate(names)]
    return [*found, *([("not a number", ~finite)] if not finite.all() else [])]


def _word(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{value:.4g}"
    return str(value)[:40]


def _chance(own: Array, others: Array, shares: bool) -> float | None:
    """None where there is too little to compare."""
    if min(len(own), len(others)) < FEWEST:
        return None
    if shares:
        return shares_differ(int(own.sum()), len(own), int(others.sum()), len(others))
    return means_differ(own, others)


def _interval(own: Array, shares: bool) -> tuple[float, float]:
    if shares:
        return wilson(float(own.sum()), len(own))
    mean, error = paired(own)
    return (mean - Z_95 * error, mean + Z_95 * error) if math.isfinite(error) else (math.nan, math.nan)
