"""Logarithms, roots, exponentials and divisions keep away from the values at which they are not finite."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Call, Control
from sickbay.trials.registry import intervention

SMALLEST = 1e-7
"""What is added by hand in such places, as a rule; single precision keeps it beside numbers around one."""
LARGEST = 80.0
"""exp(88) is the largest that single precision holds."""


@intervention("keep logarithms, roots, exponentials and divisions away from values at which they are not finite", label="loss made stable")
def stable_loss(control: Control) -> None:
    import torch

    def guarded(guard: Any) -> Any:
        def around(original: Call) -> Call:
            def operation(self: Any, *args: Any, **kwargs: Any) -> Any:
                usable = isinstance(self, torch.Tensor) and self.is_floating_point() and not control.session.busy
                return original(guard(self) if usable else self, *args, **kwargs)

            return operation

        return around

    def around_division(original: Call) -> Call:
        def divide(self: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(other, torch.Tensor) and not control.session.busy:
                least = SMALLEST if other.is_floating_point() else 1  # counts, of which none may be left
                other = torch.where(other.abs() < least, torch.full_like(other, least), other)
            return original(self, other, *args, **kwargs)

        return divide

    guards = {name: guarded(lambda t: t.clamp_min(SMALLEST)) for name in ("log", "log2", "log10", "sqrt", "rsqrt")}
    guards |= {name: guarded(lambda t: t.clamp_max(LARGEST)) for name in ("exp", "expm1")}
    guards |= {name: guarded(lambda t: t.clamp(-1 + SMALLEST, 1 - SMALLEST)) for name in ("acos", "asin", "atanh")}
    for owner in (torch, torch.Tensor):
        for name, around in guards.items():
            control.wrap(owner, name, around)
        for name in ("div", "__truediv__"):
            control.wrap(owner, name, around_division)
