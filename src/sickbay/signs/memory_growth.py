"""The process takes more memory with every step, as much at the end of the run as before."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Series, Sign
from sickbay.record.reader import Record
from sickbay.signs.registry import share, sign

SETTLED = 16
"""Steps, left out: optimizers and allocators take what they need in the first ones."""
SPACED = 1.4
"""Memory is looked at less and less often (after 16, 32, 64... steps), so looks are compared that lie as far apart as that: what an allocator takes by and by falls
by half from each pair of them to the next, what is kept of every step stays the same."""
INTERVALS = 3
WORTH = 64 * 2**20
"""Bytes: less does no harm within a run of that length."""
OF_ITSELF = 0.05
GOES_ON = 0.5
"""The last interval adds at least half as much per step as all of them together: a cache that fills up, or a first epoch that reads its data, levels off."""
EVEN = 0.25
"""...and none of them less than a quarter."""
MEGABYTE = 2**20


@sign("memory-growth")
def memory_growth(record: Record) -> Iterator[Sign]:
    steps, values = _looks(record.series("memory/rss"))
    if len(steps) <= INTERVALS or _first_pass(record, int(steps[-1])):
        return
    slopes = np.diff(values) / np.diff(steps)
    grown = float(values[-1] - values[0])
    per_step = grown / float(steps[-1] - steps[0])
    if grown < max(WORTH, OF_ITSELF * values[0]) or slopes[-1] < GOES_ON * per_step or float(np.min(slopes)) < EVEN * per_step:
        return
    yield Sign(
        name="memory-growth",
        where="memory/rss",
        steps=(int(steps[0]), int(steps[-1])),
        strength=share(grown / float(values[0]), 0.0, 1.0),
        numbers={"per_step": per_step, "from": float(values[0]), "to": float(values[-1])},
        text=f"memory grows by {_size(per_step)} with every step: from {_size(float(values[0]))} at step {steps[0]:,} to {_size(float(values[-1]))} at step {steps[-1]:,}, and it did not slow down",
    )


def _looks(series: Series) -> tuple[np.ndarray, np.ndarray]:
    """The newest look, and before it those that lie far enough apart."""
    chosen: list[int] = []
    for i in np.flatnonzero(np.isfinite(series.values) & (series.steps >= SETTLED))[::-1]:
        if not chosen or series.steps[chosen[-1]] >= SPACED * series.steps[i]:
            chosen.append(int(i))
    return series.steps[chosen[::-1]], series.values[chosen[::-1]]


def _first_pass(record: Record, step: int) -> bool:
    """Whether the newest look was still within the first pass over the data, which may fill a cache."""
    epochs = record.series("epoch")
    return record.facts.run.epochs > 0 and len(epochs) > 0 and float(np.interp(step, epochs.steps, epochs.values)) < 1


def _size(count: float) -> str:
    return (
        f"{count / MEGABYTE:,.0f} MB"
        if count >= 10 * MEGABYTE
        else f"{count / MEGABYTE:.1f} MB"
        if count >= MEGABYTE / 10
        else f"{count / 1024:.0f} KB"
    )
