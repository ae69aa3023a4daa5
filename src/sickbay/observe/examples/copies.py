"""Evaluated samples that are near copies of training's: augmented before the split, frames of one film, windows that overlap.

A copy lies far closer than anything else does: among a sample's distances to training's samples, from the nearest on, there is a jump behind the first
few. Samples that merely lie dense show no such jump: in m dimensions the logarithm of the jth distance grows by 1/(m j) in the mean (Levina and Bickel
2005), so that one which doubles at once is rare where there are several dimensions.
"""

from __future__ import annotations

import numpy as np

from sickbay import facts
from sickbay.observe.examples.means import BLOCK, standardised
from sickbay.observe.examples.rows import SERIES, TABLE, TOKENS
from sickbay.observe.numbers import Array

FEWEST_ROWS = 100
MOST_ROWS = 600
"""Evaluated samples that are looked at: a share of a fifth is known to within 2 %."""
FIRST, LAST = 8, 24
"""Distances among which the jump is looked for, and up to which the dimension is measured."""
JUMP = 2.0
FEWEST_COLUMNS = 4
SELDOM_ALIKE, MOST_FEW = 0.1, 0.25
"""A column with fewer different values than a tenth of its rows is a category or a count; of these, a quarter at most."""
OF_A_CLASS = 4
"""Training must hold at least so many times more samples of a class than a jump leaves behind it: else the near ones are simply the class."""


def near_copies(trained: Array, classes: Array | None, shown: Array, kind: str) -> facts.NearCopies | None:
    """None where nothing can be said: counts and tokens lie on a grid, where distances jump anyway."""
    if kind == TOKENS or min(len(trained), len(shown)) < FEWEST_ROWS or trained.shape[1] != shown.shape[1] or _on_a_grid(trained, kind):
        return None
    shown = shown[np.linspace(0, len(shown) - 1, min(len(shown), MOST_ROWS)).astype(int)]
    x = standardised(np.concatenate([trained, shown]), kind in (TABLE, SERIES))
    if x.shape[1] < FEWEST_COLUMNS:
        return None
    near, d = _nearest(x[: len(trained)], x[len(trained) :])
    apart = d[:, 0] > 1e-6 * np.median(d[:, -1])  # the very same samples are told by their keys
    near, logs = near[apart], np.log(d[apart])
    if len(logs) < FEWEST_ROWS:
        return None
    steps = np.diff(logs[:, : FIRST + 1], axis=1)
    at = steps.argmax(1)
    found = steps.max(1) > np.log(JUMP)
    if classes is not None:
        size = np.unique(classes, return_inverse=True, return_counts=True)
        found &= size[2][size[1][near[:, 0]]] >= OF_A_CLASS * (at + 1)
    behind = logs[:, LAST, None] - logs[:, FIRST:LAST]
    dimensions = 1 / max(float(behind.mean()), 1e-6)
    by_chance = min(float(sum(JUMP ** (-dimensions * j) for j in range(1, FIRST + 1))), 1.0)
    closer = float(np.exp(np.median(steps.max(1)[found]))) if found.any() else 0.0
    return facts.NearCopies(rows=len(logs), found=int(found.sum()), by_chance=by_chance, closer=closer)


def _on_a_grid(numbers: Array, kind: str) -> bool:
    """Whole numbers, or a table of which a good part are categories and counts."""
    several = np.array([len(np.unique(column)) for column in numbers.T]) if kind == TABLE else np.zeros(0)
    few = np.count_nonzero((several > 1) & (several < SELDOM_ALIKE * len(numbers)))
    return bool((numbers == np.round(numbers)).all()) or bool(few > MOST_FEW * np.count_nonzero(several > 1))


def _nearest(x: Array, others: Array) -> tuple[Array, Array]:
    """Of each of the other rows: the nearest of `x`, and how far they are."""
    squares = np.einsum("ij,ij->i", x, x)
    rows, found = [], []
    for at in range(0, len(others), BLOCK):
        part = others[at : at + BLOCK]
        d = squares[None] - 2.0 * (part @ x.T) + np.einsum("ij,ij->i", part, part)[:, None]
        near = np.argpartition(d, LAST, axis=1)[:, : LAST + 1]
        near = np.take_along_axis(near, np.take_along_axis(d, near, 1).argsort(1), 1)
        rows.append(near)
        found.append(((x[near].astype(np.float64) - part[:, None]) ** 2).sum(2))  # exact: tiny differences of large squares are not
    return np.concatenate(rows), np.sqrt(np.maximum(np.concatenate(found), 1e-30))
