"""An update that the script leaves out is made after each backward pass."""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

from sickbay.trials.control import Call, Control, parameters_of
from sickbay.trials.registry import intervention

WAIT = 2
"""Backward passes in which the script shows which of its optimizers it steps itself."""


@intervention("make the update that is left out after each backward pass", label="update made after each backward pass")
def step_after_backward(control: Control) -> None:
    import torch

    stepped_by_script: WeakSet[Any] = WeakSet()
    passes, making_up = 0, False

    def around(original: Call) -> Call:
        def backward(*args: Any, **kwargs: Any) -> Any:
            nonlocal passes, making_up
            result = original(*args, **kwargs)
            if control.session.busy:
                return result
            passes += 1
            making_up = True
            for optimizer in control.optimizers() if passes > WAIT else ():
                if optimizer not in stepped_by_script and any(p.grad is not None for p in parameters_of(optimizer)):
                    optimizer.step()
            making_up = False
            return result

        return backward

    def stepped(optimizer: Any) -> None:
        if not making_up:
            stepped_by_script.add(optimizer)

    control.wrap(torch.autograd, "backward", around)
    control.after_step(stepped)
