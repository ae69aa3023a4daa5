"""What enters a sigmoid or tanh between layers is brought to unit scale."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Call, Control
from sickbay.trials.registry import intervention


@intervention("bring what enters tanh and sigmoid between layers to unit scale", label="inputs of tanh and sigmoid normalised")
def normalise_before_activation(control: Control) -> None:
    import torch
    from torch.nn import functional as F

    layer_norm = F.layer_norm

    def around(original: Call) -> Call:
        def activation(given: Any, *args: Any, **kwargs: Any) -> Any:
            # A single column is a gate or an output, whose scale is its meaning.
            if control.session.busy or not isinstance(given, torch.Tensor) or given.dim() < 2 or given.shape[-1] < 4:
                return original(given, *args, **kwargs)
            return original(layer_norm(given, given.shape[1:]), *args, **kwargs)

        return activation

    for owner in (torch, torch.Tensor):
        for name in ("tanh", "sigmoid"):
            control.wrap(owner, name, around)
