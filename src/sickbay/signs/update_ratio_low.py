"""Every weight moves by so little per step that the whole run can hardly change it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.layers import nanmedian, weights
from sickbay.signs.registry import share, sign

# |update| / |weight| per step: about 1e-3 is healthy, 1e-6 is glacial (Karpathy; CS231n). 2e-4 is where a run of a few hundred
# steps can no longer change a weight by much; so the way over the whole run counts too: the sum of all updates, even if
# they all pointed the same way, is below 0.2 of the weight.
PER_STEP = 2e-4
WHOLE_RUN = 0.2
MOST_LAYERS = 75
"""Percentile over layers: when a quarter of the weights do move, it is not the learning rate that holds the others."""


@sign("update-ratio-low")
def update_ratio_low(record: Record) -> Iterator[Sign]:
    columns = weights(record, record.family("update_ratio"))
    typical = typical_update(record)
    if typical is None:
        return
    steps = float(max(columns.steps[-1] + 1, record.facts.run.steps))
    if 0 < typical < PER_STEP and typical * steps < WHOLE_RUN:
        lowest = columns.parameters[int(np.argmin(nanmedian(columns.values, axis=0)))]
        yield Sign(
            name="update-ratio-low",
            where=lowest.name,
            steps=(int(columns.steps[0]), int(columns.steps[-1])),
            strength=share(np.log10(typical), np.log10(PER_STEP), -7.0),
            numbers={"ratio": typical, "whole_run": typical * steps},
            text=f"a step changes the weights by {typical:.1g} of their size (healthy: about 1e-3); {steps:.0f} steps by at most {typical * steps:.1g}",
        )


def typical_update(record: Record) -> float | None:
    """How much of their size a step changes most weights by; None where too few steps were looked at."""
    columns = weights(record, record.family("update_ratio"))
    if len(columns.steps) < 3 or not columns.parameters:
        return None
    # Only where the learning rate was near its highest: a warm-up at the start or a decay later do not make a rate too low.
    values = np.nan_to_num(columns.values[_at_full_rate(record, columns.steps)], nan=0.0, posinf=0.0)
    return float(np.median(np.percentile(values, MOST_LAYERS, axis=1))) * _later_rise(record, columns.steps)


def _at_full_rate(record: Record, observed: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which observed steps used at least half of the highest rate that was observed."""
    lr = record.series("lr")
    rates = dict(zip(lr.steps.tolist(), lr.values.tolist(), strict=True))
    used = np.array([rates.get(int(s), np.nan) for s in observed])
    full = used >= 0.5 * np.nanmax(used) if np.isfinite(used).any() else np.ones(len(observed), bool)
    return np.asarray(full)


def _later_rise(record: Record, observed: NDArray[np.int64]) -> float:
    """How much higher the learning rate was on steps that were not observed (only the first few may have been: a warm-up)."""
    lr = record.series("lr")
    seen = np.isin(lr.steps, observed)
    highest = float(np.max(lr.values[seen])) if seen.any() else 0.0
    return max(1.0, float(np.max(lr.values)) / highest) if highest > 0 else 1.0
