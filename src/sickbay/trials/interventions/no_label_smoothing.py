"""Labels count in full."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Control
from sickbay.trials.registry import intervention


@intervention("switch label smoothing off", label="no label smoothing", redefines_loss=True)
def no_label_smoothing(control: Control) -> None:
    def change(name: str, given: Any, target: Any, options: dict[str, Any]) -> tuple[Any, Any]:
        if "label_smoothing" in options:
            options["label_smoothing"] = 0.0
        return given, target

    control.loss_calls(change, ("cross_entropy",))
