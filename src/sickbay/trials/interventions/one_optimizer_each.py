"""A parameter that two optimizers hold is left to the first."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Control, parameters_of
from sickbay.trials.registry import intervention


@intervention("leave a parameter that several optimizers hold to the first of them", label="each parameter to one optimizer")
def one_optimizer_each(control: Control) -> None:
    def act(optimizer: Any) -> None:
        others = control.optimizers()
        earlier = others[: next((i for i, o in enumerate(others) if o is optimizer), len(others))]
        held = {id(p) for other in earlier for p in parameters_of(other)}
        for group in optimizer.param_groups if held else ():
            group["params"] = [p for p in group["params"] if id(p) not in held]

    control.before_step(act)
