"""Rare classes weigh as much in the loss as frequent ones."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Control
from sickbay.trials.registry import intervention

LARGEST = 100.0
"""No class weighs more than this many times the most frequent one: a class of three samples must not be everything."""


@intervention("weigh classes in the loss by the inverse of their frequency", label="classes weighted", redefines_loss=True)
def class_weights(control: Control) -> None:
    import torch

    counts: dict[int, Any] = {}

    def weights(classes: int, labels: Any, training: bool) -> Any:
        seen = counts.setdefault(classes, torch.ones(classes, dtype=torch.float64))
        if training:
            seen += torch.bincount(labels.reshape(-1).clamp(0, classes - 1).cpu(), minlength=classes)
        inverse = (seen.max() / seen).clamp_max(LARGEST)
        return inverse * classes / inverse.sum()

    def change(name: str, given: Any, target: Any, options: dict[str, Any]) -> tuple[Any, Any]:
        if not isinstance(given, torch.Tensor) or not isinstance(target, torch.Tensor):
            return given, target
        training = torch.is_grad_enabled()
        with control.unseen():
            if name in ("cross_entropy", "nll_loss") and not target.is_floating_point() and given.dim() > 1 and options.get("weight") is None:
                options["weight"] = weights(given.shape[1], target, training).to(given)
            elif name.startswith("binary") and options.get("weight") is None and options.get("pos_weight") is None:
                each = weights(2, (target > 0.5).long(), training)
                options["weight"] = torch.where(target > 0.5, each[1], each[0]).to(given)
        return given, target

    control.loss_calls(change, ("cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits"))
