"""Classes that are numbered otherwise in evaluation than in training: what training's samples tell of evaluation's labels, as they are, under other names, and with the
channels of pictures in opposite order."""

from __future__ import annotations

import numpy as np

from sickbay import facts
from sickbay.observe.examples.means import BLOCK, NEIGHBOURS, one_hot, standardised
from sickbay.observe.examples.rows import IMAGE, SERIES, TABLE
from sickbay.observe.numbers import Array

FEWEST_ROWS = 100
MOST_CLASSES = 30
CHANNELS = 3
MOST_OWN = 400
"""Training samples that are told from the others, to see what the means are worth."""


def renamed(numbers: Array, y: Array, others: Array, other_y: Array, kind: str) -> facts.Renamed | None:
    """None where there is too little to compare."""
    named, classes = np.unique(y, return_inverse=True)
    if numbers.shape[1] != others.shape[1] or min(len(y), len(other_y)) < FEWEST_ROWS or not 2 <= len(named) <= MOST_CLASSES:
        return None
    if not set(other_y.tolist()) <= set(named.tolist()):
        return None
    x = standardised(np.concatenate([numbers, others]), kind in (TABLE, SERIES))
    told = _told(x[: len(y)], one_hot(classes, len(named)), x[len(y) :])
    given = np.searchsorted(named, other_y)
    table = np.zeros((len(named), len(named)), np.int64)
    np.add.at(table, (told, given), 1)
    names = _best_names(table)
    pairs = tuple((int(named[a]), int(named[b])) for a, b in names if a != b and table[a, b])
    turned = 0.0
    if kind == IMAGE and others.shape[1] % CHANNELS == 0:  # of a picture without colours these are thirds, which tell nothing when they change places
        around = others.reshape(len(others), CHANNELS, -1)[:, ::-1].reshape(others.shape)
        z = standardised(np.concatenate([numbers, around]), by_column=False)
        turned = float((_told(z[: len(y)], one_hot(classes, len(named)), z[len(y) :]) == given).mean())
    own = np.linspace(0, len(y) - 1, min(len(y), MOST_OWN)).astype(int)
    return facts.Renamed(
        rows=len(given),
        right=float((told == given).mean()),
        renamed=float(sum(table[a, b] for a, b in names) / len(given)),
        names=pairs[:8],
        turned=turned,
        within=float((_told(x[: len(y)], one_hot(classes, len(named)), x[own], own) == classes[own]).mean()),
    )


def _told(x: Array, hot: Array, others: Array, own: Array | None = None) -> Array:
    """The class that each of the other rows resembles, by its nearest rows; those that are rows of `x` themselves (`own` says which) not by themselves."""
    squares = np.einsum("ij,ij->i", x, x)
    found = []
    for at in range(0, len(others), BLOCK):
        distances = squares[None] - 2.0 * (others[at : at + BLOCK] @ x.T)
        if own is not None:
            distances[np.arange(len(distances)), own[at : at + BLOCK]] = np.inf
        near = np.argpartition(distances, NEIGHBOURS - 1, axis=1)[:, :NEIGHBOURS]
        found.append(hot[near].sum(1).argmax(1))
    return np.concatenate(found)


def _best_names(table: Array) -> list[tuple[int, int]]:
    """One name for each class, the most frequent pairs first."""
    left = table.astype(float)
    names = []
    for _ in range(len(table)):
        a, b = np.unravel_index(int(left.argmax()), left.shape)
        names.append((int(a), int(b)))
        left[a, :] = left[:, b] = -1.0
    return names
