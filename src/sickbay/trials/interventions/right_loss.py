"""Classes are learned as classes and quantities as quantities, whatever loss the script takes for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sickbay.trials.control import Call, Control
from sickbay.trials.heads import WideHead
from sickbay.trials.registry import intervention

ROOM = 2
"""The first batch may lack the last classes; a class that never comes is soon no longer expected."""
ROUNDING = 0.1
"""Rows of probabilities sum to 1 up to this."""
BINARY = "binary_cross_entropy_with_logits"


@intervention(
    "use cross-entropy with one output per class where classes are fitted as numbers, yes-or-no losses where several classes hold at once,"
    " squared errors where quantities are taken for probabilities",
    label="loss by the kind of the targets",
    redefines_loss=True,
)
def right_loss(control: Control) -> None:
    import torch
    from torch.nn import functional as F

    head = WideHead(control)
    cross_entropy, binary, squared = F.cross_entropy, F.binary_cross_entropy_with_logits, F.mse_loss

    def fitting(name: str, given: Any, target: Any, reduction: str) -> Any:
        """The loss that fits; None if the script's own does."""
        if target.shape == given.shape and _quantities(name, target):
            return squared(given, target.to(given.dtype), reduction=reduction)
        if name == BINARY:
            return None
        classes = given.shape[-1] if given.dim() > 1 else 1
        marks = bool(((target == 0) | (target == 1)).all())
        if classes > 1 and target.shape == given.shape and marks:
            one_hot = bool((target.sum(-1) == 1).all())  # several at once are several questions, each with yes or no
            return cross_entropy(given, target.argmax(-1)) if one_hot else binary(given, target.to(given.dtype))
        if classes > 1 and target.numel() == given.shape[0]:
            return cross_entropy(given, target.reshape(-1).long())
        if classes == 1 and target.numel() == given.numel() and marks:
            return binary(given, target.reshape(given.shape).to(given.dtype))
        if classes == 1 and target.numel() == given.numel() and torch.is_grad_enabled() and _counts(target):
            logits = head.logits(given, ROOM * (int(target.max()) + 1))
            return None if logits is None else cross_entropy(logits, target.reshape(-1).long().clamp_max(head.classes - 1))
        return None

    def around(name: str) -> Callable[[Call], Call]:
        def wrapper(original: Call) -> Call:
            def loss_function(*args: Any, **kwargs: Any) -> Any:
                given, target = args[0] if args else kwargs.get("input"), args[1] if len(args) > 1 else kwargs.get("target")
                if control.session.busy or not isinstance(given, torch.Tensor) or not isinstance(target, torch.Tensor):
                    return original(*args, **kwargs)
                found = fitting(name, given, target, kwargs.get("reduction", "mean"))
                return original(*args, **kwargs) if found is None else found

            return loss_function

        return wrapper

    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "cross_entropy", BINARY):
        control.wrap(F, name, around(name))


def _quantities(name: str, target: Any) -> bool:
    """Given to a loss that wants probabilities, and none."""
    if name not in ("cross_entropy", BINARY) or not target.is_floating_point():
        return False
    outside = bool(((target < 0) | (target > 1)).any())
    return outside or (name == "cross_entropy" and target.dim() > 1 and bool(((target.sum(1) - 1).abs() > ROUNDING).all()))


def _counts(target: Any) -> bool:
    """Whole numbers from 0 on."""
    return bool(((target >= 0) & (target == target.round())).all())
