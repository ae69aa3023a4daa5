"""Training steps run in training mode."""

from __future__ import annotations

from sickbay.trials.control import Control
from sickbay.trials.modes import force_mode
from sickbay.trials.registry import intervention


@intervention("force training mode wherever gradients are taken", label="training mode forced", redefines_loss=True)
def train_mode(control: Control) -> None:
    force_mode(control, True)
