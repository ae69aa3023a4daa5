"""What the layers give dies out layer by layer, or every sample is given the same answer."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Family, Sign
from sickbay.record.reader import Record
from sickbay.signs.activation_profile import activation_profile
from sickbay.signs.registry import share, sign

RATIO = 1e-3
"""PyTorch's own start lets a plain net lose about half of its signal with each layer, and eight of them train all the same."""
LATE = 0.5
"""Of the looks, which come less and less often: a net that was started too small and wakes up is none."""
SAME = 1e-4
"""Spread over the samples as a share of the answer itself: what is left of the inputs there is rounding."""
LOOKS = 4


@sign("activation-collapse")
def activation_collapse(record: Record) -> Iterator[Sign]:
    family = record.family("activation_std")
    p = activation_profile(family, LATE, 1.0) if len(family.steps) >= LOOKS else None
    if p is not None and p.ratio < RATIO and p.by_depth:
        yield Sign(
            name="activation-collapse",
            where=p.names[-1],
            steps=p.steps,
            strength=share(math.log10(p.ratio), math.log10(RATIO), math.log10(RATIO) - 4),
            numbers={"ratio": p.ratio, "first": float(p.size[0]), "last": float(p.size[-1]), "outputs": float(len(p.size))},
            text=f"the spread of the activations dies out from {p.size[0]:.2g} behind {p.names[0]} to {p.size[-1]:.2g} behind {p.names[-1]}, layer by layer",
        )
    else:
        yield from _same_answer(record, family)


def _same_answer(record: Record, spread: Family) -> Iterator[Sign]:
    """Of a layer with one unit the spread is that over the samples; of more units biases alone make one."""
    mean = record.family("activation_mean")
    single = {p.layer for p in record.facts.parameters if len(p.shape) == 2 and p.shape[0] == 1}
    if not spread.names or spread.names[-1] not in single or mean.names != spread.names or mean.values.shape != spread.values.shape:
        return
    seen = np.flatnonzero(np.isfinite(spread.values[:, -1]) & np.isfinite(mean.values[:, -1]))
    late = seen[-max(LOOKS, len(seen) // 4) :]
    if len(late) < LOOKS:
        return
    answers, spreads = np.abs(mean.values[late, -1]), spread.values[late, -1]
    if bool(np.all(spreads <= SAME * answers)) and float(np.max(answers)) > 0:
        yield Sign(
            name="activation-collapse",
            where=spread.names[-1],
            steps=(int(spread.steps[late[0]]), int(spread.steps[-1])),
            strength=1.0,
            numbers={"spread": float(np.median(spreads)), "answer": float(np.median(answers))},
            text=f"every sample is given the same answer by {spread.names[-1]}: {mean.values[late[-1], -1]:.3g}, with a spread of {np.median(spreads):.1g}",
        )
