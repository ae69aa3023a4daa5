"""A target whose shape would be broadcast against the prediction gets the prediction's shape."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Call, Control
from sickbay.trials.registry import intervention

BY_HAND = ("__add__", "__radd__", "add", "__sub__", "__rsub__", "sub", "__mul__", "mul", "__truediv__", "eq", "__eq__")


@intervention("give the target the shape of the prediction", label="target reshaped", redefines_loss=True)
def reshape_target(control: Control) -> None:
    import torch

    def alike(first: Any, second: Any) -> tuple[Any, Any]:
        both = isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor)
        if not both or first.dim() == second.dim() or first.numel() != second.numel() or first.numel() < 2:
            return first, second  # a row against a column, with all axes written out, is meant: pairs
        return (first, second.reshape(first.shape)) if first.requires_grad else (first.reshape(second.shape), second)

    def around(original: Call) -> Call:
        def operation(self: Any, other: Any = None, *args: Any, **kwargs: Any) -> Any:
            if control.session.busy or not isinstance(other, torch.Tensor):
                return original(self, other, *args, **kwargs)
            return original(*alike(self, other), *args, **kwargs)

        return operation

    control.loss_calls(lambda name, given, target, options: alike(given, target) if name not in ("cross_entropy", "nll_loss") else (given, target))
    for name in BY_HAND:
        control.wrap(torch.Tensor, name, around)
