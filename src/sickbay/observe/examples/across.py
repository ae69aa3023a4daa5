"""Number targets of evaluation, told by a linear map of training's samples: what it misses, and what is left once its answers are shifted and stretched, all alike."""

from __future__ import annotations

import numpy as np

from sickbay import facts
from sickbay.observe.examples.means import FAR, Linear
from sickbay.observe.numbers import Array
from sickbay.observe.one_pass import standard

FEWEST_ROWS = 60


def across(numbers: Array, y: Array, others: Array, other_y: Array) -> facts.Across | None:
    """None where there is too little to compare."""
    if numbers.shape[1] != others.shape[1] or min(len(y), len(other_y)) < FEWEST_ROWS or not y.std() or not other_y.std():
        return None
    x, given = (v.astype(np.float64) for v in (numbers, others))
    mean, spread = x.mean(0), x.std(0)
    varies = spread > 1e-9 * max(float(np.abs(x).max()), 1e-30)
    if not varies.any():
        return None
    x, given = (np.clip((v[:, varies] - mean[varies]) / spread[varies], -FAR, FAR) for v in (x, given))
    z, target = ((v - y.mean()) / y.std() for v in (y.astype(np.float64), other_y.astype(np.float64)))
    told = np.column_stack([given, np.ones(len(given))]) @ (Linear(x).map @ z)
    slope, level = np.polyfit(told, target, 1) if told.std() > 0 else (0.0, float(target.mean()))
    variance = float(target.var())
    return facts.Across(
        rows=len(target),
        error=float(((told - target) ** 2).mean() / variance),
        straightened=float(((slope * told + level - target) ** 2).mean() / variance),
        shift=float((target - told).mean()),
        own_scale=bool(standard(other_y.mean(keepdims=True), other_y.std(keepdims=True), len(other_y))[0]),
    )
