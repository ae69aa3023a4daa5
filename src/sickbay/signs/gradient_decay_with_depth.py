"""Gradients shrink layer by layer on their way back from the loss, so the first layers hardly learn."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.depth_profile import depth_profile
from sickbay.signs.registry import share, sign

# Healthy nets (normalised, residual, well initialised) keep first and last layers within a factor of 100. Less than a
# hundredth, falling layer by layer (rank correlation above 0.7), is the product of many small factors.
RATIO = 1e-2
ORDER = 0.7
JUMP = 0.75
"""Three quarters of the way in one layer are not the product of many: a small last layer, or two networks side by side (an actor and its critic)."""


@sign("gradient-decay-with-depth")
def gradient_decay_with_depth(record: Record) -> Iterator[Sign]:
    p = depth_profile(record)
    if p is not None and p.ratio < RATIO and p.order > ORDER and p.jump < JUMP:
        yield Sign(
            name="gradient-decay-with-depth",
            where=p.names[0],
            steps=p.steps,
            strength=share(float(np.log10(p.ratio)), np.log10(RATIO), np.log10(RATIO) - 4),
            numbers={"ratio": p.ratio, "first": float(p.size[0]), "last": float(p.size[-1]), "layers": len(p.size), "order": p.order},
            text=f"gradients shrink from {p.size[-1]:.2g} per element in {p.names[-1]} to {p.size[0]:.2g} in {p.names[0]}, layer by layer",
        )
