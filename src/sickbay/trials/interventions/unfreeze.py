"""Every parameter is trained."""

from __future__ import annotations

from typing import Any

from sickbay.trials.adding import add_missing
from sickbay.trials.control import Control
from sickbay.trials.registry import intervention


@intervention("let gradients reach every parameter, and the optimizer hold them all", label="all parameters trained")
def unfreeze(control: Control) -> None:
    def act(module: Any) -> None:
        for parameter in module.parameters():
            if parameter.is_floating_point():
                parameter.requires_grad_(True)

    control.before_first_step(act)
    add_missing(control)
