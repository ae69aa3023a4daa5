"""An update that the script leaves out is made before its gradients are cleared."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Call, Control, parameters_of
from sickbay.trials.registry import intervention


@intervention("make the update that is left out after each backward pass", label="update made after each backward pass")
def step_after_backward(control: Control) -> None:
    import torch

    pending = False

    def make_up() -> None:
        nonlocal pending
        if not pending:
            return
        pending = False
        for optimizer in control.optimizers():
            if any(p.grad is not None for p in parameters_of(optimizer)):
                optimizer.step()

    def before(original: Call) -> Call:
        def call(*args: Any, **kwargs: Any) -> Any:
            if not control.session.busy:
                make_up()
            return original(*args, **kwargs)

        return call

    def around_backward(original: Call) -> Call:
        def backward(*args: Any, **kwargs: Any) -> Any:
            nonlocal pending
            if control.session.busy:
                return original(*args, **kwargs)
            make_up()
            result = original(*args, **kwargs)
            pending = True
            return result

        return backward

    def stepped(optimizer: Any) -> None:
        nonlocal pending
        pending = False

    control.wrap(torch.optim.Optimizer, "zero_grad", before)
    control.wrap(torch.nn.Module, "zero_grad", before)
    control.wrap(torch.autograd, "backward", around_backward)
    control.after_step(stepped)
