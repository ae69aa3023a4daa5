"""A learning-rate range test: the rate rises exponentially from step to step."""

from __future__ import annotations

from typing import Any

from sickbay.errors import UsageError
from sickbay.trials.control import Control
from sickbay.trials.registry import intervention
from sickbay.trials.values import count, positive

OWN_RATE = "own-rate"
"""The event that keeps the rate which the script itself would have begun with."""


def sweep(text: str) -> tuple[float, float, int]:
    """`1e-6:10:200`: from, to, steps."""
    parts = text.split(":")
    if len(parts) != 3:
        raise UsageError(f"{text!r} is not a sweep: expected FROM:TO:STEPS; write for example 1e-6:10:200")
    return positive(parts[0]), positive(parts[1]), max(2, count(parts[2]))


@intervention("raise the learning rate exponentially: FROM:TO:STEPS", parse=sweep, default="1e-7:10:200", label="learning rate swept {}")
def sweep_lr(control: Control, value: tuple[float, float, int]) -> None:
    low, high, steps = value
    told = False

    def swept(group: Any, given: float, step: int) -> float:
        nonlocal told
        if not told:
            told = True
            control.session.writer.event(0, OWN_RATE, {"lr": float(given)})
        return float(low * (high / low) ** min(1.0, step / (steps - 1)))

    control.rate(swept)
