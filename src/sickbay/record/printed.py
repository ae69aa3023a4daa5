"""A validation loss that the script only prints, as a series like any other.

It counts only where its scale is known: the script prints its training loss beside it, and that is the one that was observed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from sickbay.nouns import Family, Series

TRAIN = frozenset("train training trn tr fit".split())
EVAL = frozenset("val va valid validation eval evaluation dev test holdout heldout".split())
FILLERS = frozenset("epoch step iter iteration batch avg average mean running set final last".split())
FEWEST = 3
SAME, MOSTLY = 0.15, 0.7
"""A printed number is the mean of the losses since the last one, or the last of them, give or take rounding and weights by batch size; in seven lines of ten at least."""


def heard(series: Mapping[str, Series], families: Mapping[str, Family]) -> dict[str, Series]:
    """The series with the printed validation loss, where none was observed."""
    told, observed = families.get("printed"), series.get("loss/train")
    if told is None or observed is None or any(name.startswith("loss/eval") for name in series):
        return dict(series)
    columns = {name: _column(told, j) for j, name in enumerate(told.names)}
    known = [_measure(name) for name, column in columns.items() if not _words(name) & EVAL and _is_observed(column, observed)]
    for name, column in columns.items():
        if _words(name) & EVAL and len(column) >= FEWEST and (_measure(name) in known or (known and not _measure(name))):
            return dict(series) | {"loss/eval": column}
    return dict(series)


def _words(name: str) -> set[str]:
    return set(re.split(r"[^a-z0-9*]+", name.replace("held-out", "heldout").replace("held out", "heldout"))) - {""}


def _measure(name: str) -> frozenset[str]:
    """The words that say what is measured: "mse" of "train mse" and of "val mse"."""
    return frozenset(_words(name) - TRAIN - EVAL - FILLERS)


def _column(family: Family, j: int) -> Series:
    values = np.asarray(family.values, float)[:, j]
    there = np.flatnonzero(np.isfinite(values))
    steps, first = np.unique(family.steps[there], return_index=True)  # a line may come twice in one step
    return Series("loss/eval", steps, values[there][first])


def _is_observed(column: Series, observed: Series) -> bool:
    if len(column) < FEWEST:
        return False
    hits, before = 0, 0
    for step, value in zip(column.steps.tolist(), column.values.tolist(), strict=True):
        since = observed.values[(observed.steps >= before) & (observed.steps < step)]
        hits += len(since) > 0 and any(abs(value - x) <= SAME * abs(x) for x in (float(np.mean(since)), float(since[-1])))
        before = step
    return hits >= MOSTLY * len(column)
