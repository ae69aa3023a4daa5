"""Class numbers that are fitted like quantities are learned as classes."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Call, Control
from sickbay.trials.heads import WideHead
from sickbay.trials.registry import intervention

ROOM = 2
"""The first batch may lack the last classes; a class that never comes is soon no longer expected."""


@intervention(
    "use cross-entropy, with one output per class, where classes are fitted by a regression loss, yes-or-no losses where several hold at once",
    label="loss by the kind of the targets",
    redefines_loss=True,
)
def right_loss(control: Control) -> None:
    import torch
    from torch.nn import functional as F

    head = WideHead(control)
    cross_entropy, binary = F.cross_entropy, F.binary_cross_entropy_with_logits

    def around(original: Call) -> Call:
        def loss_function(*args: Any, **kwargs: Any) -> Any:
            given, target = args[0] if args else kwargs.get("input"), args[1] if len(args) > 1 else kwargs.get("target")
            if control.session.busy or not isinstance(given, torch.Tensor) or not isinstance(target, torch.Tensor):
                return original(*args, **kwargs)
            classes = given.shape[-1] if given.dim() > 1 else 1
            if classes > 1 and target.shape == given.shape and bool(((target == 0) | (target == 1)).all()):
                one_hot = bool((target.sum(-1) == 1).all())  # several at once are several questions, each with yes or no
                return cross_entropy(given, target.argmax(-1)) if one_hot else binary(given, target.to(given.dtype))
            if classes > 1 and target.numel() == given.shape[0]:
                return cross_entropy(given, target.reshape(-1).long())
            if classes == 1 and target.numel() == given.numel() and bool(((target == 0) | (target == 1)).all()):
                return binary(given, target.reshape(given.shape).to(given.dtype))
            if classes == 1 and target.numel() == given.numel() and torch.is_grad_enabled() and _counts(target):
                logits = head.logits(given, ROOM * (int(target.max()) + 1))
                if logits is not None:
                    return cross_entropy(logits, target.reshape(-1).long().clamp_max(head.classes - 1))
            return original(*args, **kwargs)

        return loss_function

    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "cross_entropy"):
        control.wrap(F, name, around)


def _counts(target: Any) -> bool:
    """Whole numbers from 0 on."""
    return bool(((target >= 0) & (target == target.round())).all())
