"""Parameters that the loss reaches and no optimizer holds."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Control, parameters_of


def add_missing(control: Control) -> None:
    """Add them to the optimizer that steps first, in its last group: schedulers and states are none the wiser."""

    def act(optimizer: Any) -> None:
        held = {id(p) for other in control.optimizers() for p in parameters_of(other)} | {id(p) for p in parameters_of(optimizer)}
        entries = list(control.session.registry.parameters.values())
        missing = [p for e in entries if (p := e.ref()) is not None and p.requires_grad and p.grad is not None and p.is_leaf and id(p) not in held]
        if missing:
            optimizer.param_groups[-1]["params"].extend(missing)

    control.before_step(act)
