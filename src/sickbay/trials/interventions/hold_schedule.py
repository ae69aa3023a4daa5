"""The learning rate never falls below what it once was."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Control
from sickbay.trials.registry import intervention


@intervention("keep the learning rate at the highest that the schedule has reached", label="schedule held")
def hold_schedule(control: Control) -> None:
    highest: dict[int, float] = {}

    def held(group: Any, given: float, step: int) -> float:
        """Rather than stopping the scheduler, which would also stop its warm-up."""
        highest[id(group)] = max(highest.get(id(group), 0.0), float(given))
        return highest[id(group)]

    control.rate(held)
