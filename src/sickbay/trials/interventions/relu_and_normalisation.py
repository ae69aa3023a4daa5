"""Sigmoid and tanh between layers become a normalised ReLU, and weights start to match."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Call, Control
from sickbay.trials.interventions.reinit import reinit
from sickbay.trials.registry import intervention


@intervention("put normalised ReLU in place of sigmoid and tanh between layers", label="ReLU and normalisation in place of sigmoid and tanh")
def relu_and_normalisation(control: Control) -> None:
    import torch
    from torch.nn import functional as F

    layer_norm, relu = F.layer_norm, torch.relu

    def around(original: Call) -> Call:
        def activation(given: Any, *args: Any, **kwargs: Any) -> Any:
            if control.session.busy or not isinstance(given, torch.Tensor) or given.dim() < 2 or given.shape[-1] < 4:
                return original(given, *args, **kwargs)
            return relu(layer_norm(given, given.shape[1:]))

        return activation

    for owner in (torch, torch.Tensor):
        for name in ("tanh", "sigmoid"):
            control.wrap(owner, name, around)
    reinit.install(control)
