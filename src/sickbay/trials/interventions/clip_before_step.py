"""The script's own clipping is done where it has an effect: right before the update."""

from __future__ import annotations

import math
from typing import Any

from sickbay.trials.control import Call, Control, parameters_of
from sickbay.trials.registry import intervention

USUAL = 1.0
"""Until the script has clipped for the first time."""


@intervention("do the script's own clipping right before the update, with the script's own limit", label="clipping moved before the update")
def clip_before_step(control: Control) -> None:
    import torch

    limit = USUAL

    def around(original: Call) -> Call:
        def clip_grad_norm_(parameters: Any, max_norm: Any, *args: Any, **kwargs: Any) -> Any:
            nonlocal limit
            if control.session.busy:
                return original(parameters, max_norm, *args, **kwargs)
            limit = float(max_norm)
            with control.unseen():  # the norm alone: nothing is clipped here any more
                return original(parameters, math.inf, *args, **kwargs)

        return clip_grad_norm_

    def act(optimizer: Any) -> None:
        with control.unseen():
            torch.nn.utils.clip_grad_norm_(parameters_of(optimizer), limit)

    for owner in (torch.nn.utils, torch.nn.utils.clip_grad):
        control.wrap(owner, "clip_grad_norm_", around)
    control.before_step(act)
