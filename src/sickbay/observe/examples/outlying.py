"""Samples that hold a value far outside all others: a unit that slipped, a sentinel such as -999, a file that was read wrongly.

Long tails have large values too, but none with nothing before them: of a tail as long as Cauchy's, the k largest of many values lie r times beyond all others with a probability of r ** -k. So a gap must
be wide, and the wider the fewer lie beyond it.
"""

from __future__ import annotations

import numpy as np

from sickbay.facts.examples import Outlying
from sickbay.observe.examples.book import Book
from sickbay.observe.examples.rows import TABLE, TOKENS
from sickbay.observe.numbers import Array

FEWEST = 100
MOST = 0.1
"""Of all samples: more are a group of their own."""
GAP, GAP_OF_COUNTS = 10.0, 100.0
"""Times as far from the middle as any other value; counts come in bursts."""
CHANCE = 1e-4
"""That one of all columns shows such a gap though nothing is wrong."""
VARIED = 20
"""Other values of a column that differ from its middle: what is hardly ever anything else (a rare flag, the rim of pictures) has no range to lie outside of."""
MOST_TOLD = 1000


def outlying(book: Book) -> Outlying | None:
    """None where there are none, or nothing can be said."""
    rows = book.held.rows()
    if len(rows) < FEWEST or book.kind == TOKENS or not rows.shape[1]:
        return None
    far = np.abs(rows - np.median(rows, 0))
    whole = (rows == np.round(rows)).all(0)
    if book.kind != TABLE:  # pixels, or points in time, are all of one kind
        far, whole = far.max(1, keepdims=True), whole.all(keepdims=True)
    found, times = np.zeros(len(rows), bool), np.inf
    for i in range(far.shape[1]):
        beyond, gap = _beyond(far[:, i], GAP_OF_COUNTS if whole[i] else GAP, far.shape[1])
        if len(beyond):
            found[beyond], times = True, min(times, gap)
    if not 0 < found.sum() <= MOST * len(rows):
        return None
    indices = np.sort(book.held.column("index")[found])
    return Outlying(rows=len(rows), found=int(found.sum()), times=float(times), indices=tuple(indices[indices >= 0][:MOST_TOLD].tolist()))


def _beyond(far: Array, least: float, columns: int) -> tuple[Array, float]:
    """The places of those beyond the widest gap, and how wide it is."""
    order = np.argsort(-far, kind="stable")
    most = int(MOST * len(far))
    top = far[order[: most + 1]].astype(np.float64)
    if np.count_nonzero(far) < VARIED + most or not top[most] > 0:
        return order[:0], 0.0
    gaps = top[:-1] / top[1:]
    count = int(gaps.argmax()) + 1
    gap = float(gaps[count - 1])
    return (order[:count], gap) if gap >= least and count * np.log(gap) >= np.log(columns / CHANCE) else (order[:0], 0.0)
