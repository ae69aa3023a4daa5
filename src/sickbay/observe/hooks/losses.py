"""Torch's loss functions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional as F

from sickbay.observe.numbers import is_broken
from sickbay.observe.observer import LossCall
from sickbay.observe.patches import Patches
from sickbay.observe.trace import inside_transform

if TYPE_CHECKING:
    from sickbay.observe.session import Session

LOSSES = (
    "cross_entropy",
    "nll_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "kl_div",
    "poisson_nll_loss",
    "gaussian_nll_loss",
    "multilabel_soft_margin_loss",
    "soft_margin_loss",
    "multi_margin_loss",
    "hinge_embedding_loss",
)
"""Loss functions called as (input, target, ...)."""


def hook_losses(session: Session, patches: Patches) -> None:
    is_compiling, is_grad_enabled = torch.compiler.is_compiling, torch.is_grad_enabled
    depth = 0

    def around(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def wrapper_of(original: Callable[..., Any]) -> Callable[..., Any]:
            def loss_function(*args: Any, **kwargs: Any) -> Any:
                nonlocal depth
                # Under our own tracing, torch calls the (patched) function a second time from inside.
                if is_compiling() or depth or session.busy or session.off or not session.mine():
                    return original(*args, **kwargs)
                if inside_transform():
                    session.limit("losses inside torch.func transforms", "their values are not numbers yet while they are computed")
                    return original(*args, **kwargs)
                depth = 1
                try:
                    output = original(*args, **kwargs)
                finally:
                    depth = 0
                tell = session.fire
                if (
                    session.asleep and session.train_mode and is_grad_enabled() and _trains(output) and not is_broken(output)
                ):  # one that is broken the script may leave out, and nobody would know
                    if session.deaf:
                        return output
                    tell = session.tell
                with torch._C.DisableTorchFunction():  # a function mode of the user's does not see us ask
                    call = _loss_call(name, args, kwargs, output)
                tell("loss_called", call)
                return output

            return loss_function

        return wrapper_of

    for name in LOSSES:
        patches.wrap(F, name, around(name))


def _trains(loss: Any) -> bool:
    """Else it is an evaluation, of what was predicted inside a `no_grad` that has ended: seen also on steps that are slept through."""
    return type(loss) is not torch.Tensor or loss.requires_grad


def _loss_call(name: str, args: Any, kwargs: Any, output: Any) -> LossCall | None:
    tensors = [a for a in args[:2] if isinstance(a, torch.Tensor)]
    tensors += [kwargs[k] for k in ("input", "target") if isinstance(kwargs.get(k), torch.Tensor)]
    if not tensors or not isinstance(output, torch.Tensor):
        return None
    module = ""
    frame = sys._getframe(2)
    if frame.f_code.co_name == "forward":
        owner = frame.f_locals.get("self")
        if isinstance(owner, torch.nn.modules.loss._Loss):
            module = type(owner).__name__
    options = {k: kwargs[k] for k in ("reduction", "label_smoothing", "ignore_index", "weight", "pos_weight") if kwargs.get(k) is not None}
    return LossCall(name, tensors[0], tensors[1] if len(tensors) > 1 else None, options, output, output.requires_grad, None, module)
