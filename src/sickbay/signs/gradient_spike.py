"""The gradient norm jumps by orders of magnitude against its own running level."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.curves import curve, noise, running_median
from sickbay.signs.registry import share, sign

MINIMUM_STEPS = 30
WINDOW = 31
# Gradient norms are log-normal at best, so they are compared on a log scale: a factor of 30 *and* eight robust deviations.
TIMES = 30.0
DEVIATIONS = 8.0


@sign("gradient-spike")
def gradient_spike(record: Record) -> Iterator[Sign]:
    for series in record.series_like("grad_norm"):
        c = curve(series)
        positive = c.values > 0
        steps, values = c.steps[positive], np.log(c.values[positive])
        if len(values) < MINIMUM_STEPS:
            continue
        jump = values - running_median(values, WINDOW)
        at = np.flatnonzero((jump > np.log(TIMES)) & (jump > DEVIATIONS * noise(values)) & (np.arange(len(values)) >= 5))
        if len(at):
            worst = int(at[np.argmax(jump[at])])
            yield Sign(
                name="gradient-spike",
                where=series.name,
                steps=(int(steps[at[0]]), int(steps[at[-1]])),
                strength=share(float(jump[worst]), np.log(TIMES), np.log(1e4)),
                numbers={"count": len(at), "times": float(np.exp(jump[worst])), "norm": float(np.exp(values[worst])), "step": float(steps[worst])},
                text=f"the gradient norm jumps to {np.exp(values[worst]):.3g} at step {steps[worst]}, {np.exp(jump[worst]):.3g} times its usual size",
            )
