"""The one column of a table (or number of a window) that tells the target by itself, and what the others tell without it."""

from __future__ import annotations

from typing import Any

import numpy as np

from sickbay import facts
from sickbay.observe.examples.column_group import column_group
from sickbay.observe.examples.relation import Views, relation
from sickbay.observe.examples.rows import SERIES
from sickbay.observe.numbers import Array

MOST_COLUMNS = 128
FEWEST_COLUMNS = 3
FEWEST_ROWS = 150
BINS = 32
OFTEN = 50
"""Rows with one value of a column, all of one class: of a class that half of the others have, that is chance once in 10^15."""
LINES = 64
"""Pairs of rows that are tried: if half of the rows lie on one line, all miss it once in a hundred million times."""
EXACTLY = 1e-4
"""Of the targets' spread: what single precision leaves after both were scaled."""
NEARLY_ALL_ROWS = 0.99
"""...which of a rounded target may leave a few rows out."""
WORTH = 0.8
"""Of all that there is to tell beyond the commonest class (or the mean), from which a column is worth a second look;"""
CERTAIN = 0.5
"""...or the share of rows whose class it tells without exception: a mean over outcomes is certain where it is of one outcome, and says nothing of the rest."""


def best_column(numbers: Array, table: slice, y: Array, classes: bool) -> facts.Column | None:
    """None where it is no table of several columns, or no column is far better than the rest. Other inputs (categories, say) may stand beside the table."""
    given = numbers[:, table]
    rows, columns = given.shape
    if not FEWEST_COLUMNS <= columns <= MOST_COLUMNS or rows < FEWEST_ROWS:
        return None
    if classes:
        y = np.unique(y, return_inverse=True)[1]
    scores = np.array([_alone(given[:, j], y, classes) for j in range(columns)])
    best = int(scores.argmax())
    base = float(np.bincount(y).max() / rows) if classes else 0.0
    exact = _sealed(given[:, best], y) if classes else {"on_a_line": _on_a_line(given[:, best], y)}
    worth = scores[best] >= base + WORTH * (1 - base) or exact.get("sealed", 0.0) >= CERTAIN
    if (given.std(0) > 0).sum() < FEWEST_COLUMNS or not worth:
        return None
    rest = relation(Views(np.delete(numbers, table.start + best, axis=1), "table"), y, classes)
    if rest is None:
        return None
    return facts.Column(
        column=best,
        columns=columns,
        score=float(scores[best]),
        others=rest.score,
        next_best=float(np.delete(scores, best).max()),
        chance=base,
        continuous=len(np.unique(given[:, best])) > BINS,
        group=column_group(given, scores, base, numbers, table.start, y) if classes else None,
        **exact,
    )


def copied_number(numbers: Array, y: Array) -> facts.Column | None:
    """Of short series, each as numbers side by side: the one that is the target itself, on another scale, in (nearly) all rows."""
    rows, columns = numbers.shape
    if columns < FEWEST_COLUMNS or rows < FEWEST_ROWS or not y.std():
        return None
    straight = np.array([_straight(numbers[:, j], y) for j in range(columns)])
    best = int(straight.argmax())
    line = _on_a_line(numbers[:, best], y) if straight[best] > 1 - EXACTLY else 0.0
    rest = relation(Views(np.delete(numbers, best, axis=1), SERIES), y, False) if line >= NEARLY_ALL_ROWS else None
    if rest is None:
        return None
    next_best = float(np.delete(straight, best).max())
    return facts.Column(
        column=best, columns=columns, score=float(straight[best]), others=rest.score, next_best=next_best, continuous=True, on_a_line=line
    )


def _sealed(column: Array, y: Array) -> dict[str, Any]:
    """Values that come often, and with one class only."""
    values, where, counts = np.unique(column, return_inverse=True, return_counts=True)
    often = np.flatnonzero(counts >= OFTEN)
    classes = {int(v): np.unique(y[where == v]) for v in often}
    only = {v: int(found[0]) for v, found in classes.items() if len(found) == 1}
    return {"sealed": float(counts[list(only)].sum() / len(y)), "sealed_classes": len(set(only.values()))}


def _on_a_line(column: Array, y: Array) -> float:
    """Share of the rows whose target is exactly the same straight line of the column: the line through two of them, tried often. Values that come again count once."""
    rows = np.unique(np.stack([column, y]), axis=1).astype(np.float64)
    first, second = np.random.default_rng(0).integers(rows.shape[1], size=(2, LINES))
    away = rows[0, second] - rows[0, first]
    shares = [0.0]
    for i, j in zip(first[away != 0], second[away != 0], strict=True):
        slope = (rows[1, j] - rows[1, i]) / (rows[0, j] - rows[0, i])
        left = np.abs(rows[1] - rows[1, i] - slope * (rows[0] - rows[0, i]))
        if slope:
            shares.append(float((left < EXACTLY * y.std()).sum() / len(y)))
    return max(shares)


def _alone(column: Array, y: Array, classes: bool) -> float:
    """What a step function of one column tells of the other half of the rows: share of right classes, or R² (there also of a straight line, which is finer)."""
    half = np.arange(len(y)) % 2 == 0
    steps = (_told(column, y, half, classes) + _told(column, y, ~half, classes)) / 2
    return max(steps, 0.0 if classes else _straight(column, y))


def _straight(column: Array, y: Array) -> float:
    """R² of a straight line."""
    return float(np.corrcoef(column, y)[0, 1] ** 2) if column.std() > 0 and y.std() > 0 else 0.0


def _told(column: Array, y: Array, learn: Array, classes: bool) -> float:
    edges = np.unique(np.quantile(column[learn], np.linspace(0, 1, BINS + 1)[1:-1]))
    bins = np.searchsorted(edges, column)
    if classes:
        table = np.zeros((len(edges) + 1, int(y.max()) + 1))
        np.add.at(table, (bins[learn], y[learn]), 1)
        return float((table.argmax(1)[bins[~learn]] == y[~learn]).mean())
    sums = np.bincount(bins[learn], y[learn], len(edges) + 1)
    counts = np.bincount(bins[learn], minlength=len(edges) + 1)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), y[learn].mean())
    left = ((y[~learn] - means[bins[~learn]]) ** 2).mean()
    return float(1 - left / max(float(y[~learn].var()), 1e-30))
