"""The process takes more memory with every step, to the end of the run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.curves import blocks, rank_correlation
from sickbay.signs.registry import share, sign

SETTLED = 0.2
"""Of the run, left out: optimizers, allocators and caches take what they need in the first steps, data sets are read in the first epoch."""
LOOKS = 12
PARTS = 8
WORTH = 64 * 2**20
"""Bytes: less does no harm within a run of that length, and allocators that round take as much."""
OF_ITSELF = 0.05
GOES_ON = 0.5
"""The second half adds at least half as much as the first: a cache that fills up levels off."""
STEADY = 0.95
MEGABYTE = 2**20


@sign("memory-growth")
def memory_growth(record: Record) -> Iterator[Sign]:
    series = record.series("memory/rss")
    if not len(series):
        return
    use = np.isfinite(series.values) & (series.steps >= series.steps[0] + SETTLED * (series.steps[-1] - series.steps[0]))
    values, steps = series.values[use], series.steps[use]
    if len(values) < LOOKS:
        return
    parts = _by_steps(values, steps)
    grown, middle = float(parts[-1] - parts[0]), parts[len(parts) // 2 - 1 : len(parts) // 2 + 1].mean()
    first, second = float(middle - parts[0]), float(parts[-1] - middle)
    rises = np.diff(parts)
    steady = rank_correlation(parts) > STEADY and float(rises[-1]) > 0 and float(np.max(rises)) < 0.5 * grown
    if grown < max(WORTH, OF_ITSELF * parts[0]) or second < GOES_ON * first or not steady:
        return
    per_step = grown / (PARTS - 1) * PARTS / float(steps[-1] - steps[0])
    yield Sign(
        name="memory-growth",
        where=series.name,
        steps=(int(steps[0]), int(steps[-1])),
        strength=share(grown / float(parts[0]), 0.0, 1.0),
        numbers={"per_step": per_step, "from": float(parts[0]), "to": float(parts[-1])},
        text=f"memory grows by about {_size(per_step)} with every step, from {_size(float(parts[0]))} to {_size(float(parts[-1]))}, and goes on to the end",
    )


def _by_steps(values: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Medians of stretches of about as many steps each: looks come more often at first."""
    even = np.interp(np.linspace(steps[0], steps[-1], 8 * PARTS), steps, values)
    return blocks(even, PARTS)


def _size(count: float) -> str:
    return f"{count / MEGABYTE:,.0f} MB" if count >= 10 * MEGABYTE else f"{count / MEGABYTE:.1f} MB" if count >= MEGABYTE / 10 else f"{count / 1024:.0f} KB"
