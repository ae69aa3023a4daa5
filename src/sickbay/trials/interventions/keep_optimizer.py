"""An optimizer that is built again goes on with the state of the one before."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Control
from sickbay.trials.registry import intervention


@intervention("let an optimizer that is built again go on with the state of the one before", label="optimizer state kept")
def keep_optimizer(control: Control) -> None:
    states: dict[str, Any] = {}

    def before(optimizer: Any) -> None:
        kept = states.get(type(optimizer).__name__)
        if kept is not None and kept is not optimizer.state and not optimizer.state:
            optimizer.state.update(kept)

    def after(optimizer: Any) -> None:
        states[type(optimizer).__name__] = optimizer.state

    control.before_step(before)
    control.after_step(after)
