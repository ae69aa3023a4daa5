"""Trainable parameters that no optimizer holds are added to one."""

from __future__ import annotations

from sickbay.trials.adding import add_missing
from sickbay.trials.control import Control
from sickbay.trials.registry import intervention


@intervention("give the optimizer the parameters that no optimizer holds", label="missing parameters added to the optimizer")
def add_parameters(control: Control) -> None:
    add_missing(control)
