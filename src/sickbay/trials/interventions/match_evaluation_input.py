"""What enters the model in evaluation is brought to mean and spread of the training inputs."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from sickbay.trials.control import Call, Control
from sickbay.trials.registry import intervention
from sickbay.trials.scaling import Statistics, is_data

FEWEST = 8
"""Rows of an evaluation batch from which its own mean and spread say something."""


@intervention("bring evaluation inputs to the mean and spread of the training inputs", label="evaluation inputs matched to training")
def match_evaluation_input(control: Control) -> None:
    import torch

    known: WeakKeyDictionary[torch.nn.Module, dict[int, tuple[Statistics, Statistics]]] = WeakKeyDictionary()

    def around(original: Call, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        training = torch.is_grad_enabled() and module.training
        with control.unseen():
            given = tuple(_matched(known.setdefault(module, {}), i, a, training) for i, a in enumerate(args))
        return original(module, *given, **kwargs)

    control.model_calls(around)


def _matched(known: dict[int, tuple[Statistics, Statistics]], index: int, value: Any, training: bool) -> Any:
    if not is_data(value):
        return value
    train, evaluation = known.setdefault(index, (Statistics(), Statistics()))
    (train if training else evaluation).see(value)
    if training or not train.fits(value) or value.shape[0] < FEWEST:
        return value
    return (evaluation.standardised(value).double() * train.std + train.mean).to(value.dtype)
