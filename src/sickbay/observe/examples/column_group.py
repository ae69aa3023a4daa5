"""A few columns that each tell much of the class by themselves, far more than any other, and within a class nothing of each other, while the best of them hardly moves in one class:
what was filled in after the outcome."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from sickbay import facts
from sickbay.observe.examples.relation import Views, relation
from sickbay.observe.numbers import Array

TELLS = 0.5
"""Of what there is to tell beyond the commonest class, by itself: then a column belongs to the group."""
PART, FEWEST = 1 / 3, 8
"""...which is a part of so many columns at most, of so many at least: of clouds of points around two centres all columns tell some of the class, and the group has no end."""
FEWEST_IN_CLASS = 30


def column_group(given: Array, scores: Array, base: float, others: Array, start: int, y: Array) -> facts.ColumnGroup | None:
    """`given` are the columns of the table, which begin at `start` of `others`; None where no few columns stand out."""
    tells = (scores - base) / max(1 - base, 1e-9)
    group = np.flatnonzero(tells >= TELLS)
    if given.shape[1] < FEWEST or not 2 <= len(group) <= PART * given.shape[1]:
        return None
    rest = relation(Views(np.delete(others, start + group, axis=1), "table"), y, True)
    if rest is None:
        return None
    left = np.delete(scores, group)
    return facts.ColumnGroup(
        columns=tuple(int(j) for j in group),
        least=float(scores[group].min()),
        next_best=float(left.max()),
        others=rest.score,
        fixed=_fixed(given[:, scores.argmax()], y),
        alike=max(_alike(given[:, a], given[:, b], y) for a, b in combinations(group, 2)),
    )


def _fixed(column: Array, y: Array) -> float:
    spreads = [float(column[y == k].std()) for k in np.unique(y) if (y == k).sum() >= FEWEST_IN_CLASS]
    return min(spreads) / max(spreads) if spreads and max(spreads) > 0 else 1.0


def _alike(one: Array, other: Array, y: Array) -> float:
    """Largest correlation of two columns by rank within a class."""
    found = [0.0]
    for k in np.unique(y):
        a, b = one[y == k], other[y == k]
        if len(a) >= FEWEST_IN_CLASS and a.std() > 0 and b.std() > 0:
            found.append(abs(float(np.corrcoef(_ranks(a), _ranks(b))[0, 1])))
    return max(found)


def _ranks(values: Array) -> Array:
    """Equal values share a rank."""
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - counts / 2)[where])
