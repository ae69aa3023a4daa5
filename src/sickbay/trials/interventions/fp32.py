"""Everything in single precision: autocast and gradient scaling are off."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Call, Control
from sickbay.trials.registry import intervention


@intervention("switch automatic mixed precision and gradient scaling off", label="full precision")
def fp32(control: Control) -> None:
    import torch

    def off(original: Call) -> Call:
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            self._enabled = False

        return __init__

    control.wrap(torch.amp.autocast_mode.autocast, "__init__", off)
    control.wrap(torch.amp.GradScaler, "__init__", off)

    def stay(original: Call) -> Call:
        def half(self: Any, *args: Any, **kwargs: Any) -> Any:
            return self

        return half

    for owner in (torch.nn.Module, torch.Tensor):
        for name in ("half", "bfloat16"):
            control.wrap(owner, name, stay)
