"""Weight decay is zero."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Control
from sickbay.trials.registry import intervention


@intervention("switch weight decay off", label="no weight decay")
def no_weight_decay(control: Control) -> None:
    def act(optimizer: Any) -> None:
        for group in optimizer.param_groups:
            if group.get("weight_decay"):
                group["weight_decay"] = 0.0

    control.before_step(act)
