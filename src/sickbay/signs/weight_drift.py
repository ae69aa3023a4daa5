"""Weights grow many times over and go on growing to the end, or shrink to next to nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.curves import rank_correlation
from sickbay.signs.layers import nanmedian, weights
from sickbay.signs.registry import share, sign

GROWN = 10.0
"""Times the norm at the first look, in the median weight. Weights that start as usual end within 0.5 to 3 of it."""
GOES_ON = 0.5
"""Of what the middle third added, added by the last third: what levels off has found its size."""
STEADY = 0.9
SHRUNK = 0.1
"""A tenth. Weight decay that holds normalised layers at their own balance leaves a third or more."""
LOOKS = 6


@sign("weight-drift")
def weight_drift(record: Record) -> Iterator[Sign]:
    columns = weights(record, record.family("weight_norm"))
    if not columns.parameters or len(columns.steps) < LOOKS:
        return
    ratios = columns.values / np.array([next((x for x in column if np.isfinite(x) and x > 0), np.nan) for column in columns.values.T])
    typical = nanmedian(ratios, axis=1)
    known = np.flatnonzero(np.isfinite(typical))
    if len(known) < LOOKS:
        return
    typical, steps = typical[known], columns.steps[known]
    late = float(np.median(typical[-max(2, len(typical) // 4) :]))
    grows = late > GROWN and _goes_on(typical, steps)
    if not grows and late >= SHRUNK:
        return
    by_weight = nanmedian(ratios[known[-max(2, len(known) // 4) :]], axis=0)  # not all NaN: their median is known
    worst = int(np.nanargmax(by_weight) if grows else np.nanargmin(by_weight))
    how = (
        f"grow to {late:.3g} times their first size in the median layer, and go on growing"
        if grows
        else f"shrink to {late:.2g} of their first size in the median layer"
    )
    yield Sign(
        name="weight-drift",
        where=columns.parameters[worst].name,
        steps=(int(steps[0]), int(steps[-1])),
        strength=share(abs(math.log10(max(late, 1e-12))), 1.0, 3.0),
        numbers={"ratio": late, "worst": float(by_weight[worst]), "weights": float(len(columns.parameters))},
        text=f"the weights {how} (most in {columns.parameters[worst].name}: {by_weight[worst]:.2g})",
    )


def _goes_on(typical: np.ndarray, steps: np.ndarray) -> bool:
    """Whether the last third of the steps adds about as much as the one before. Looks come less and less often, so they are taken as points of a line."""
    even = np.interp(np.linspace(steps[0], steps[-1], 4), steps, typical)
    middle, last = float(even[2] - even[1]), float(even[3] - even[2])
    return last > GOES_ON * middle and last > 0 and rank_correlation(typical) > STEADY
