"""Evaluation runs in evaluation mode."""

from __future__ import annotations

from sickbay.trials.control import Control
from sickbay.trials.modes import force_mode
from sickbay.trials.registry import intervention


@intervention("force evaluation mode wherever no gradients are taken", label="evaluation mode forced")
def eval_mode(control: Control) -> None:
    force_mode(control, False)
