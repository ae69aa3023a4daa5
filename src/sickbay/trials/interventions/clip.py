"""Gradients are clipped right before the update."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Control, parameters_of
from sickbay.trials.registry import intervention
from sickbay.trials.values import positive


@intervention("clip the norm of all gradients before every update", parse=positive, default="1.0", label="gradients clipped at {}")
def clip(control: Control, limit: float) -> None:
    import torch

    def act(optimizer: Any) -> None:
        with control.unseen():
            torch.nn.utils.clip_grad_norm_(parameters_of(optimizer), limit)

    control.before_step(act)
