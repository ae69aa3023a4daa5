"""What the layers give grows layer by layer, so that the last ones are thrown far beyond what their functions are made for."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Family, Sign
from sickbay.record.reader import Record
from sickbay.signs.activation_profile import activation_profile
from sickbay.signs.registry import share, sign

RATIO = 100.0
"""Well-scaled layers keep the size of what they are given; with He weights a plain net of ten layers stays within a factor of 3."""
EARLY = 0.25
"""Of the looks: as training found the weights. Later a model may need some layers to be large."""
LARGE = 10.0
"""Small numbers that grow to be usual ones are inputs that were small."""


@sign("activation-growth")
def activation_growth(record: Record) -> Iterator[Sign]:
    p = activation_profile(_sizes(record), 0.0, EARLY)
    if p is not None and p.ratio > RATIO and float(p.size[-1]) > LARGE and p.by_depth:
        yield Sign(
            name="activation-growth",
            where=p.names[-1],
            steps=p.steps,
            strength=share(math.log10(p.ratio), math.log10(RATIO), math.log10(RATIO) + 4),
            numbers={"ratio": p.ratio, "first": float(p.size[0]), "last": float(p.size[-1]), "outputs": float(len(p.size))},
            text=f"activations grow from {p.size[0]:.2g} behind {p.names[0]} to {p.size[-1]:.2g} behind {p.names[-1]}, layer by layer",
        )


def _sizes(record: Record) -> Family:
    """Root mean square, from mean and standard deviation."""
    mean, spread = record.family("activation_mean"), record.family("activation_std")
    if mean.names != spread.names or mean.values.shape != spread.values.shape:
        return spread
    with np.errstate(over="ignore", invalid="ignore"):
        return Family("activation_size", spread.names, spread.steps, np.hypot(mean.values, spread.values))
