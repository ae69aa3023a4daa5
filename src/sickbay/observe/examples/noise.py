"""Samples whose label speaks against everything that resembles them (Northcutt, Jiang and Chuang 2021: confident learning, with our own means).

Each sample is told from all others by a smooth map: how much it resembles each class. Where classes overlap, labels are at odds with that only where it is unclear; wrong labels are so
everywhere. So the clearest samples tell whether labels are wrong. Which ones is asked a second time, without the labels that stood out: with many wrong ones around, the first look is
blurred.
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
RECOGNISED = 0.5
"""Of a class, the samples that resemble it most: of a class that is recognised less often, nothing can be said (a rare one is drowned by the others)."""
CLEAR = 0.4
"""How much more a suspect must resemble another class than its own. With 5 % of the labels of scikit-learn's digits replaced (as pictures and as a table, two draws each), 98 to 99 % of those
found were replaced, and 92 to 97 % of the replaced were found; of clean digits, 2 or 3 in 1,797 are. (Asking for so much more than the next best class instead finds 82 to 97 %.)"""
DEEP, MOST = 0.3, 0.6
"""Parts of all samples, the clearest ones."""
MOST_TOLD = 200


def suspects(views: Views, y: Array, indices: Array) -> facts.Suspects | None:
    """None where classes are too many or too small to resemble one."""
    named, classes = np.unique(y, return_inverse=True)
    if not 2 <= len(named) <= MOST_CLASSES or np.bincount(classes).min() < FEWEST_IN_CLASS:
        return None
    order = np.random.default_rng(0).permutation(len(y))
    told, again = np.zeros((2, len(y), len(named)), np.float32)
    for piece in np.array_split(order, -(-len(y) // MOST_ROWS)):
        told[piece], again[piece] = _told(views.x[piece], classes[piece], len(named))
    best, margin = _first_two(told)
    recall = np.bincount(classes, best == classes) / np.bincount(classes)
    known = np.flatnonzero(recall[classes] >= RECOGNISED)
    if not len(known):
        return None
    clearest = known[np.argsort(-margin[known], kind="stable")]
    odd = best != classes
    deep, most = clearest[: int(DEEP * len(y))], clearest[: int(MOST * len(y))]
    surest = _surest(again, classes, known)
    return facts.Suspects(
        rows=len(y),
        known=len(known),
        odd=int(odd[known].sum()),
        margin=float(np.median(margin[known])),
        deep=len(deep),
        deep_odd=int(odd[deep].sum()),
        most=len(most),
        most_odd=int(odd[most].sum()),
        count=len(surest),
        indices=tuple(int(i) for i in indices[surest[:MOST_TOLD]] if i >= 0),
        pairs=_pairs(named, classes[surest], again[surest].argmax(1)),
    )


def _told(x: Array, classes: Array, count: int) -> tuple[Array, Array]:
    """How much each sample resembles each class; and again, once the samples that stood out are called what they resemble."""
    hot = one_hot(classes, count)
    smooth = Smooth(x)
    told = smooth.told(hot)
    odd = told.argmax(1) != classes
    cleaned = hot.copy()
    cleaned[odd] = one_hot(told[odd].argmax(1), count)
    return told, smooth.told(cleaned)


def _first_two(told: Array) -> tuple[Array, Array]:
    """The class that each row resembles most, and by how much more than the next."""
    ordered = np.sort(told, axis=1)
    return told.argmax(1), ordered[:, -1] - ordered[:, -2]


def _surest(told: Array, classes: Array, known: Array) -> Array:
    """Samples that clearly resemble another class than theirs, the surest first."""
    rows = np.arange(len(classes))
    against = told.max(1) - told[rows, classes]
    odd = known[against[known] > CLEAR]
    return np.asarray(odd[np.argsort(-against[odd], kind="stable")])


def _pairs(named: Array, given: Array, resembled: Array) -> tuple[tuple[int, int, int], ...]:
    pairs, counts = np.unique(np.column_stack([given, resembled]), axis=0, return_counts=True)
    common = np.argsort(-counts, kind="stable")[:4]
    return tuple((int(named[pairs[i][0]]), int(named[pairs[i][1]]), int(counts[i])) for i in common)
