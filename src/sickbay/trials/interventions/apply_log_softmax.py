"""A loss that expects (log-)probabilities is given them, where the script gives logits."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Control
from sickbay.trials.registry import intervention


@intervention("give losses that expect probabilities the probabilities, where the script gives logits", label="softmax applied", redefines_loss=True)
def apply_log_softmax(control: Control) -> None:
    import torch
    from torch.nn import functional as F

    log_softmax, sigmoid = F.log_softmax, torch.sigmoid

    def change(name: str, given: Any, target: Any, options: dict[str, Any]) -> tuple[Any, Any]:
        if not isinstance(given, torch.Tensor):
            return given, target
        if name == "binary_cross_entropy":
            return sigmoid(given), target
        return log_softmax(given, dim=1 if given.dim() > 1 else 0), target

    control.loss_calls(change, ("nll_loss", "kl_div", "binary_cross_entropy"))
