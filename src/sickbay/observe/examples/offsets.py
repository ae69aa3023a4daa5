"""Targets that belong to other samples: shifted by a few places in the data set's order, or in opposite order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sickbay import facts
from sickbay.observe.examples.relation import Views, relation
from sickbay.observe.numbers import Array

NEAR = 5
"""Places that targets are tried to be shifted by: off-by-one mistakes, a header or two."""
BEYOND = 8.0
"""Spreads by which targets must fit better when they are shifted: some a dozen shifts are tried."""
BETTER = 0.15
"""...and by how much: in most orders (by date, by class) a neighbour's target says something too."""
KNOWN = 0.5
"""Share of the samples whose shifted target must be known."""
PAIRS = 200
ALIKE = 0.5
"""Distance of neighbours in the data set's order, as a part of that of others, from which it is a series: the next sample may hold this one's target by design."""


def offset(views: Views, indices: Array, targets: Array, batch: int, classes: bool, as_they_are: facts.Relation) -> facts.Offset | None:
    """The shift with which targets follow from inputs far better than they do; `targets` are all that are known, by data set index."""
    if not np.isfinite(targets).any() or _series(views.x, indices):
        return None
    best: tuple[float, int, bool, Array] | None = None
    for by, opposite in _tried(batch):
        y = _moved(indices, targets, by, opposite)
        if y is not None and (best is None or views.quick(y, classes) > best[0]):
            best = (views.quick(y, classes), by, opposite, y)
    if best is None or best[0] < as_they_are.score + BETTER:
        return None
    known = np.isfinite(best[3])
    told = relation(Views(views.x[known], "table"), best[3][known], classes)
    if told is None or told.score < as_they_are.score + max(BETTER, BEYOND * told.spread) or told.beyond < BEYOND:
        return None
    return facts.Offset(by=best[1], reversed=best[2], relation=told)


def _tried(batch: int) -> Iterator[tuple[int, bool]]:
    for by in range(1, NEAR + 1):
        yield by, False
        yield -by, False
    if batch > NEAR:
        yield batch, False
        yield -batch, False
    yield 0, True


def _moved(indices: Array, targets: Array, by: int, opposite: bool) -> Array | None:
    """Each sample's target, had it been taken from elsewhere; None if too few of those are known."""
    last = int(np.flatnonzero(np.isfinite(targets))[-1])
    other = last - indices if opposite else indices - by
    inside = (other >= 0) & (other <= last)
    y = np.full(len(indices), np.nan)
    y[inside] = targets[other[inside]]
    return y if np.isfinite(y).mean() >= KNOWN else None


def _series(x: Array, indices: Array) -> bool:
    """Neighbours in the data set's order are alike, or the same window moved on by a few columns."""
    place = {int(i): at for at, i in enumerate(indices)}
    pairs = [(place[i], place[i + 1]) for i in sorted(place)[: 4 * PAIRS] if i + 1 in place][:PAIRS]
    if len(pairs) < 20:
        return True
    a, b = (x[list(rows)] for rows in zip(*pairs, strict=True))
    usual = np.abs(x[np.random.default_rng(0).permutation(len(x))] - x).mean()
    moved = [np.abs(b[:, :-by] - a[:, by:]).mean() for by in range(1, min(9, x.shape[1]))]
    return bool(min([np.abs(a - b).mean(), *moved]) < ALIKE * usual)
