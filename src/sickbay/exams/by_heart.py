"""When a loss on one batch says that the batch was learned by heart."""

from __future__ import annotations

NEAR_ZERO = 0.01
"""Of a classification loss: every sample has 99 % (CATALOGUE)."""
OF_START = 0.02
"""...and of any other: two per cent of where it began."""


def memorised(first: float, last: float) -> bool:
    return last <= NEAR_ZERO or 0 < last <= OF_START * first
