"""What given layers put out goes through a ReLU."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Control
from sickbay.trials.named import around_layers
from sickbay.trials.registry import intervention
from sickbay.trials.values import names


@intervention("put a ReLU behind these layers: insert-relu=fc1,fc2", parse=names, label="ReLU behind {}")
def insert_relu(control: Control, layers: tuple[str, ...]) -> None:
    import torch

    def bent(call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        output = call(*args, **kwargs)
        return torch.relu(output) if isinstance(output, torch.Tensor) else output

    around_layers(control, layers, bent)
