"""Tables of the same samples of which each column keeps only its order: a logarithm on one side, or numbers that each call takes from its own few samples."""

from __future__ import annotations

import math

import numpy as np

from sickbay.observe.maps.numbers import Array, Map, differs

FEWEST_COLUMNS, MOST_COLUMNS = 3, 512
"""Columns that are others, neither sorted nor in one another's order: two tables that are both sorted (by time, by size) agree in the order of what goes with it."""
BITS = 40.0
"""How unlikely the same order must be by chance, in each of these columns together: a million million to one."""
STANDARD = 1e-3
"""How far mean and spread of a call's own samples may be from 0 and 1: what a small number that is added to the spread leaves."""


def in_order(a: Array, b: Array, calls: list[int]) -> Map | None:
    """What makes `b` of `a`, a row for each sample, where `b` came in calls of so many rows; None where an order differs, or tells too little."""
    if a.shape != b.shape or a.ndim != 2 or not FEWEST_COLUMNS <= a.shape[1] <= MOST_COLUMNS or a.dtype.kind != "f" or b.dtype.kind != "f":
        return None
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return None
    ends = np.minimum(np.cumsum(calls), len(a))
    parts = [slice(i, j) for i, j in zip((0, *ends[:-1].tolist()), ends.tolist(), strict=True) if j > i]
    if not all(_agree(a[p], b[p]) for p in parts) or not _tells(a, b, parts):
        return None
    if _agree(a, b):
        return Map(
            "each column of serving's keeps the order of training's and nothing else: one side lacks a step that bends it (such as a logarithm)",
            "x = prepare(raw)  # the very function that made training's inputs",
        )
    whole = parts[:-1]  # of the last call only the first rows may have been kept
    own = "mean and spread" if all(_standard(b[p]) for p in whole if p.stop - p.start > 1) else "numbers"
    return Map(
        f"each call's samples keep their order column by column and nothing else: they are scaled by their own {own} ({len(parts)} calls), so that an answer depends on what else is asked",
        "x = (x - train_mean) / train_std  # the numbers of the training set, in every call",
    )


def _agree(a: Array, b: Array) -> bool:
    """No two rows of a column stand the other way round, and few fall together on one side only (by rounding)."""
    one, other = np.sign(a[:, None] - a[None]), np.sign(b[:, None] - b[None])
    return not bool((one * other < 0).any()) and float((one != other).mean()) < 0.01


def _tells(a: Array, b: Array, parts: list[slice]) -> bool:
    changed = [i for i in np.flatnonzero(differs(a, b).any(0)) if not _sorted(a[:, i])]
    orders = {tuple(np.argsort(a[:, i], kind="stable").tolist()): i for i in changed}
    return len(orders) >= FEWEST_COLUMNS and min(sum(_bits(a[p, i]) for p in parts) for i in orders.values()) * len(orders) >= BITS


def _sorted(x: Array) -> bool:
    steps = np.diff(x)
    return bool((steps >= 0).all() or (steps <= 0).all())


def _bits(x: Array) -> float:
    """Of the orders in which these numbers could stand."""
    _, same = np.unique(x, return_counts=True)
    return (math.lgamma(len(x) + 1) - sum(math.lgamma(n + 1) for n in same.tolist())) / math.log(2)


def _standard(x: Array) -> bool:
    spread = x.std(0)
    vary = spread > 0.5
    return bool(vary.any()) and bool((np.abs(x.mean(0)) < STANDARD).all()) and bool((np.abs(spread[vary] - 1) < STANDARD).all())
