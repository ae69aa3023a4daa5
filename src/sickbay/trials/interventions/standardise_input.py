"""What enters the model has mean 0 and spread 1, feature by feature."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from sickbay.trials.control import Call, Control
from sickbay.trials.registry import intervention
from sickbay.trials.scaling import Statistics, is_data


@intervention("bring every feature that enters the model to mean 0 and spread 1", label="inputs standardised")
def standardise_input(control: Control) -> None:
    import torch

    known: WeakKeyDictionary[torch.nn.Module, dict[int, Statistics]] = WeakKeyDictionary()

    def around(original: Call, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        training = torch.is_grad_enabled()
        with control.unseen():
            own = known.setdefault(module, {}) if training else known.get(module, {})
            given = tuple(_scaled(own, i, a, training) for i, a in enumerate(args))
        return original(module, *given, **kwargs)

    control.model_calls(around)


def _scaled(known: dict[int, Statistics], index: int, value: Any, training: bool) -> Any:
    """Evaluation uses the statistics of training, and only where training has some."""
    if not is_data(value):
        return value
    if training:
        known.setdefault(index, Statistics()).see(value)
    found = known.get(index)
    return found.standardised(value) if found is not None and found.fits(value) else value
