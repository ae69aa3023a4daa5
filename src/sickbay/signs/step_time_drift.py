"""Steps take longer and longer over the run."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.curves import MEDIAN_ERROR, blocks, noise, rank_correlation
from sickbay.signs.registry import share, sign

WARM = 0.1
"""Of the steps, left out: compilers, caches and our own first looks."""
STEPS = 60
PARTS = 8
SLOWER = 1.5
"""Times as long at the end: a machine that others use differs by that for a while, and comes back."""
MILLISECONDS = 0.002
"""Shorter steps are as long as what else the machine does lets them be."""
STEADY = 0.97
"""Rank correlation of eight parts of the run with time: two neighbours may change places, by chance once in five thousand."""
FAR_SLOWER, FAIRLY_STEADY = 3.0, 0.85
"""Three times as long leaves room for a machine that others use: of the ward's healthy scripts, run on a busy one, none came to twice."""
ERRORS = 4.0
ONE_JUMP = 0.5
"""Of the whole way in one place: another stage (layers thawed, larger pictures), not a drift."""


@sign("step-time-drift")
def step_time_drift(record: Record) -> Iterator[Sign]:
    series = record.series("time/step")
    use = np.isfinite(series.values) & (series.values > 0)
    values, steps = series.values[use], series.steps[use]
    begun = int(WARM * len(values))
    values, steps = values[begun:], steps[begun:]
    if len(values) < STEPS or float(np.median(values)) < MILLISECONDS:
        return
    logs = np.log(values)
    parts = blocks(logs, PARTS)
    way = float(parts[-1] - parts[0])
    error = MEDIAN_ERROR * noise(logs) * math.sqrt(2 * PARTS / len(logs))
    steady = STEADY if way < math.log(FAR_SLOWER) else FAIRLY_STEADY
    if way < max(math.log(SLOWER), ERRORS * error) or rank_correlation(parts) < steady or float(np.max(np.diff(parts))) > ONE_JUMP * way:
        return
    yield Sign(
        name="step-time-drift",
        where=series.name,
        steps=(int(steps[0]), int(steps[-1])),
        strength=share(way, 0.0, math.log(10)),
        numbers={"first": math.exp(parts[0]), "last": math.exp(parts[-1]), "times": math.exp(way)},
        text=f"a step takes {1000 * math.exp(parts[0]):.3g} ms at first and {1000 * math.exp(parts[-1]):.3g} ms at the end, longer and longer over the run",
    )
