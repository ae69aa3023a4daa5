"""Another learning rate, with the shape of the script's own schedule."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Control
from sickbay.trials.registry import intervention
from sickbay.trials.values import rate


@intervention("use another learning rate: a factor (x0.1) or a rate (0.001) in place of the first one", parse=rate, label="learning rate {}")
def lr(control: Control, value: tuple[bool, float]) -> None:
    is_factor, number = value
    if is_factor:
        control.rate(lambda group, given, step: given * number)
        control.gradients_by_hand(lambda step: number)
        return
    first: dict[int, float] = {}

    def scaled(group: Any, given: float, step: int) -> float:
        """The rate that was asked for stands for the first one of the group; a schedule goes on from there."""
        start = first.setdefault(id(group), float(given))
        return float(given) / start * number if start else number

    control.rate(scaled)
