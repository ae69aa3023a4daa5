"""A mode that is forced on a model for the length of one call."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Call, Control


def force_mode(control: Control, training: bool) -> None:
    """In calls with gradients (or without), every module is in that mode, and afterwards in its own again."""
    import torch

    def around(original: Call, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if torch.is_grad_enabled() is not training:
            return original(module, *args, **kwargs)
        others = [m for m in module.modules() if m.training is not training]
        for m in others:
            m.training = training
        try:
            return original(module, *args, **kwargs)
        finally:
            for m in others:
                m.training = not training

    control.model_calls(around)
