"""Gradients are cleared after every update, and at no other time."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Call, Control, parameters_of
from sickbay.trials.registry import intervention


@intervention("clear gradients after every update and at no other time", label="gradients cleared after each update")
def zero_grad(control: Control) -> None:
    import torch

    def around(original: Call) -> Call:
        def zero(self: Any, *args: Any, **kwargs: Any) -> Any:
            """Right before a backward pass there is nothing to clear; right after one there must not be."""
            if not control.session.since_step and not _any_gradient(self):
                return original(self, *args, **kwargs)
            return None

        return zero

    def act(optimizer: Any) -> None:
        with control.unseen():
            for parameter in parameters_of(optimizer):
                parameter.grad = None

    control.wrap(torch.optim.Optimizer, "zero_grad", around)
    control.wrap(torch.nn.Module, "zero_grad", around)
    control.after_step(act)


def _any_gradient(owner: Any) -> bool:
    found = parameters_of(owner) if hasattr(owner, "param_groups") else owner.parameters()
    return any(p.grad is not None for p in found)
