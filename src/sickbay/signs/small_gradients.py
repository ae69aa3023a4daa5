"""Gradients of the weights are too small to move them, from the beginning."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.layers import in_steps, nanmedian, root_mean_square, weights
from sickbay.signs.registry import share, sign

# Healthy gradients have a root mean square of 1e-4 to 1e-1 per element early in training (1/sqrt(elements) of a norm of about
# 1). The catalogue's 1e-5 is where vanishing begins; at 1e-7 even Adam's epsilon (1e-8) starts to count.
TINY = 1e-7
EARLY = 0.2
"""Only the first fifth of the run: a converged model has small gradients, as it should."""


@sign("small-gradients")
def small_gradients(record: Record) -> Iterator[Sign]:
    columns = weights(record, record.family("grad_norm"))
    if len(columns.steps) < 3 or not columns.parameters:
        return
    early = in_steps(
        columns, float(columns.steps[0]) + 1, max(float(columns.steps[-1]) * EARLY, float(columns.steps[min(4, len(columns.steps) - 1)]))
    )
    size = nanmedian(root_mean_square(early), axis=0)
    typical = float(nanmedian(size[None, :], axis=1)[0])
    if np.isfinite(typical) and typical < TINY:
        yield Sign(
            name="small-gradients",
            where=None,
            steps=(int(early.steps[0]), int(early.steps[-1])),
            strength=share(float(np.log10(max(typical, 1e-20))), np.log10(TINY), np.log10(TINY) - 4),
            numbers={"rms": typical},
            text=f"half of the weights have gradients below {typical:.1g} per element from the start",
        )
