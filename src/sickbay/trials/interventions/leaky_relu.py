"""ReLU lets a little of what is below zero through."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Call, Control
from sickbay.trials.registry import intervention

SLOPE = 0.01
"""torch's own default for LeakyReLU."""


@intervention("put LeakyReLU in place of ReLU", label="LeakyReLU in place of ReLU")
def leaky_relu(control: Control) -> None:
    import torch
    from torch.nn import functional as F

    leaky = F.leaky_relu

    def around(original: Call) -> Call:
        def relu(given: Any, *args: Any, **kwargs: Any) -> Any:
            return leaky(given, SLOPE) if not control.session.busy else original(given, *args, **kwargs)

        return relu

    for owner, name in ((torch, "relu"), (torch, "relu_"), (torch.Tensor, "relu"), (torch.Tensor, "relu_"), (F, "relu"), (F, "relu_")):
        control.wrap(owner, name, around)
