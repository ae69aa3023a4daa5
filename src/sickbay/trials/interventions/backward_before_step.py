"""A backward pass that the script leaves out is made before the update."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Call, Control
from sickbay.trials.registry import intervention


@intervention("run backward on the newest loss before an update that comes without one", label="backward pass before each update")
def backward_before_step(control: Control) -> None:
    import torch
    from torch.nn import functional as F

    from sickbay.observe.hooks import LOSSES

    newest: Any = None

    def around(original: Call) -> Call:
        def loss_function(*args: Any, **kwargs: Any) -> Any:
            nonlocal newest
            loss = original(*args, **kwargs)
            if isinstance(loss, torch.Tensor) and loss.requires_grad and loss.numel() == 1:
                newest = loss
            return loss

        return loss_function

    def before(optimizer: Any) -> None:
        nonlocal newest
        loss, newest = newest, None
        if loss is not None and not control.session.since_step:
            optimizer.zero_grad()
            loss.backward()

    for name in LOSSES:
        control.wrap(F, name, around)
    control.before_step(before)
