"""Gradients grow layer by layer on their way back from the loss, so the first layers are thrown about."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.depth_profile import depth_profile
from sickbay.signs.registry import share, sign

RATIO = 1e2  # the mirror image of gradient-decay-with-depth, with the same reason
ORDER = -0.7


@sign("gradient-growth-with-depth")
def gradient_growth_with_depth(record: Record) -> Iterator[Sign]:
    p = depth_profile(record)
    if p is not None and p.ratio > RATIO and p.order < ORDER:
        yield Sign(
            name="gradient-growth-with-depth",
            where=p.names[0],
            steps=p.steps,
            strength=share(float(np.log10(p.ratio)), np.log10(RATIO), np.log10(RATIO) + 4),
            numbers={"ratio": p.ratio, "first": float(p.size[0]), "last": float(p.size[-1]), "layers": len(p.size), "order": p.order},
            text=f"gradients grow from {p.size[-1]:.2g} per element in {p.names[-1]} to {p.size[0]:.2g} in {p.names[0]}, layer by layer",
        )
