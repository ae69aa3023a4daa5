"""A last layer with one output, where one for each class is needed."""

from __future__ import annotations

from typing import Any

from sickbay.exams.randomness import own_randomness
from sickbay.trials.control import Call, Control, parameters_of


class WideHead:
    """Stands beside the script's last layer: made when it is first asked for, trained by the same optimizer. Where no gradients are taken, the script's layer
    gives the number of the class that this one prefers, so that what the script makes of its output (rounding, an accuracy) is right."""

    def __init__(self, control: Control) -> None:
        from torch.nn import functional as F

        self.control = control
        self.linear = F.linear
        self._last: tuple[Any, Any, Any] | None = None
        """What the newest layer with one output gave, was given and weighs it with."""
        self._weight: Any = None
        self._head: Any = None
        control.wrap(F, "linear", self._around)

    def logits(self, given: Any, classes: int) -> Any:
        """For these predictions, one column per class; None if it is not known which layer they come from."""
        if self._last is None or self._last[0].data_ptr() != given.data_ptr():
            return None
        _, entered, weight = self._last
        if self._head is None:
            self._make(weight, classes)
        return self.linear(entered.reshape(-1, entered.shape[-1]), self._head.weight, self._head.bias)

    @property
    def classes(self) -> int:
        return self._head.out_features if self._head is not None else 0

    def _make(self, weight: Any, classes: int) -> None:
        import torch

        self._weight = weight
        with self.control.unseen(), own_randomness():
            self._head = torch.nn.Linear(weight.shape[1], classes, device=weight.device, dtype=weight.dtype)
        holder = next((o for o in self.control.optimizers() if any(p is weight for p in parameters_of(o))), None)
        if holder is not None:
            holder.param_groups[-1]["params"].extend(self._head.parameters())

    def _around(self, original: Call) -> Call:
        import torch

        def linear(given: Any, weight: Any, bias: Any = None) -> Any:
            if self.control.session.busy or weight.shape[0] != 1 or weight.dim() != 2:
                return original(given, weight, bias)
            if weight is self._weight and not torch.is_grad_enabled():
                return original(given, self._head.weight, self._head.bias).argmax(-1, keepdim=True).to(given.dtype)
            result = original(given, weight, bias)
            self._last = result, given, weight
            return result

        return linear
