"""Weights start at random, at the scale that their fan-in and the activations ask for."""

from __future__ import annotations

from typing import Any

from sickbay.exams.randomness import own_randomness
from sickbay.trials.control import Call, Control, leaves_of
from sickbay.trials.registry import intervention

RECTIFIERS = ("ReLU", "LeakyReLU", "GELU", "SiLU", "ELU", "PReLU")


@intervention("start weights at random, scaled by fan-in (He with rectifiers, Xavier without)", label="weights initialised by fan-in")
def reinit(control: Control) -> None:
    known: set[int] = set()

    def act(module: Any) -> None:
        known.update(id(p) for p in module.parameters())
        with control.unseen(), own_randomness():
            rectified = any(type(m).__name__ in RECTIFIERS for m in module.modules()) or not any(
                type(m).__name__ in ("Tanh", "Sigmoid") for m in module.modules()
            )
            for part in module.modules():
                if not any(id(p) in control.session.registry.loaded for p in part.parameters()):  # a checkpoint's weights are no initialisation
                    _start(part, rectified)

    control.before_first_step(act)
    _plain_tensors(control, known)


def _plain_tensors(control: Control, known: set[int]) -> None:
    """Weights that belong to no module are met at the first backward pass, and start anew right after it."""
    import torch

    begun = False

    def around(original: Call) -> Call:
        def differentiate(outputs: Any, *args: Any, **kwargs: Any) -> Any:
            nonlocal begun
            if begun or control.session.busy or not isinstance(outputs, torch.Tensor):
                return original(outputs, *args, **kwargs)
            begun = True
            leaves = [leaf for leaf in leaves_of(outputs) if id(leaf) not in known and leaf.dim() >= 2]
            result = original(outputs, *args, **kwargs)
            with control.unseen(), own_randomness():
                for leaf in leaves:
                    if id(leaf) not in control.session.registry.loaded:
                        leaf.data.normal_(std=(2 / (leaf.shape[0] + leaf.shape[-1])) ** 0.5)  # Xavier: whichever way round they are multiplied
            return result

        return differentiate

    for name in ("backward", "grad"):
        control.wrap(torch.autograd, name, around)


def _start(module: Any, rectified: bool) -> None:
    import torch
    from torch.nn import init

    if isinstance(module, torch.nn.Embedding):
        init.normal_(module.weight, std=module.embedding_dim**-0.5)
    elif isinstance(module, (torch.nn.Linear, torch.nn.modules.conv._ConvNd)):
        (init.kaiming_normal_ if rectified else init.xavier_normal_)(module.weight)
        if module.bias is not None:
            init.zeros_(module.bias)
    elif callable(getattr(module, "reset_parameters", None)):
        module.reset_parameters()
    else:
        for parameter in module.parameters(recurse=False):
            if parameter.dim() >= 2:
                init.normal_(parameter, std=parameter.shape[-1] ** -0.5)
