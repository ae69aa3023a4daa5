"""Samples whose label speaks against everything that resembles them (Northcutt, Jiang and Chuang 2021: confident learning, with our own means).

Each sample is told from all others by a smooth map, once with all labels and then again without those that stood out: with many wrong labels around, the first look is
blurred. A sample is suspected when what it resembles is clear and is not what it is called.
"""

from __future__ import annotations

import numpy as np

from sickbay import facts
from sickbay.observe.examples.means import Smooth, one_hot
from sickbay.observe.examples.relation import Views
from sickbay.observe.numbers import Array

MOST_ROWS = 1500
"""Looked at in one piece: the smooth map of so many rows takes half a second. More come in several pieces."""
MOST_CLASSES = 30
FEWEST_IN_CLASS = 12
CLEAR = 0.4
"""How much more a sample must resemble one class than the next (an untouched sample of a clear class: near 1)."""
DEEP = 0.3
"""The clearest part of the samples. Classes that overlap are at odds with their labels only where they are unclear, wrong labels are so everywhere: of the clearest
30 % of nine data sets (digits, wine, tumours, mixtures, moons, linear rules with noise) 0 to 2 % resemble another class (6 % for mixtures in which neighbours are right
on 75 % only), and nearly the share of labels that is replaced when some are."""
ROUNDS = 2
MOST_TOLD = 200


def suspects(views: Views, y: Array, indices: Array, right: Array, seen: Array) -> facts.Suspects | None:
    """None where classes are too many or too small to resemble one."""
    named, classes = np.unique(y, return_inverse=True)
    if not 2 <= len(named) <= MOST_CLASSES or np.bincount(classes).min() < FEWEST_IN_CLASS:
        return None
    order = np.random.default_rng(0).permutation(len(y))
    told = np.zeros((len(y), len(named)), np.float32)
    for piece in np.array_split(order, -(-len(y) // MOST_ROWS)):
        told[piece] = _told(views.x[piece], classes[piece], len(named))
    best, margin = _first_two(told)
    clear = margin > CLEAR
    odd = clear & (best != classes)
    against = told[np.arange(len(y)), best] - told[np.arange(len(y)), classes]
    surest = np.flatnonzero(odd)[np.argsort(-against[odd])]
    pairs = np.unique(np.column_stack([named[classes[odd]], named[best[odd]]]).astype(int), axis=0, return_counts=True)
    common = np.argsort(-pairs[1])[:4]
    return facts.Suspects(
        rows=len(y),
        count=int(odd.sum()),
        indices=tuple(int(i) for i in indices[surest[:MOST_TOLD]] if i >= 0),
        unsure=float((~clear).mean()),
        deep=int(DEEP * len(y)),
        deep_odd=int((best != classes)[np.argsort(-margin)[: int(DEEP * len(y))]].sum()),
        pairs=tuple((int(pairs[0][i][0]), int(pairs[0][i][1]), int(pairs[1][i])) for i in common),
        memorised=float(right[odd].sum() / max(seen[odd].sum(), 1)) if odd.any() else None,
    )


def _told(x: Array, classes: Array, count: int) -> Array:
    hot = one_hot(classes, count)
    smooth = Smooth(x)
    told = smooth.told(hot)
    for _ in range(ROUNDS - 1):
        best, margin = _first_two(told)
        odd = (best != classes) & (margin > 0)
        cleaned = hot.copy()
        cleaned[odd] = one_hot(best[odd], count)
        told = smooth.told(cleaned)
    return told


def _first_two(told: Array) -> tuple[Array, Array]:
    """The class that each row resembles most, and by how much more than the next."""
    ordered = np.sort(told, axis=1)
    return told.argmax(1), ordered[:, -1] - ordered[:, -2]
