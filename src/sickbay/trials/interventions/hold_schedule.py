"""The learning rate never falls below what it once was, and does not wait for a schedule that never moves."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Control
from sickbay.trials.registry import intervention

STILL = 10
"""Steps after which a warm-up that has not moved since the start is not waited for: a scheduler that nobody steps keeps the rate where it began.
One that is stepped after each epoch would have raised it later; the rate it was to reach is the script's own all the same."""


@intervention("keep the learning rate at the highest that the schedule has reached", label="schedule held")
def hold_schedule(control: Control) -> None:
    first: dict[int, float] = {}
    highest: dict[int, float] = {}

    def held(group: Any, given: float, step: int) -> float:
        """Rather than stopping the scheduler, which would also stop its warm-up."""
        rate, key = float(given), id(group)
        began = first.setdefault(key, rate)
        if step >= STILL and rate == began == highest.get(key):  # `initial_lr` is what the script asked for, before the scheduler was built
            rate = max(rate, float(group.get("initial_lr", rate)))
        highest[key] = max(highest.get(key, 0.0), rate)
        return highest[key]

    control.rate(held)
