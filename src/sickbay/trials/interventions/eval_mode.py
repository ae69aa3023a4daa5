"""Evaluation runs in evaluation mode."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Call, Control
from sickbay.trials.modes import force_mode
from sickbay.trials.registry import intervention

DROPS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")


@intervention("force evaluation mode wherever no gradients are taken", label="evaluation mode forced")
def eval_mode(control: Control) -> None:
    import torch
    from torch.nn import functional as F

    force_mode(control, False)

    def around(original: Call) -> Call:
        def drop(*args: Any, **kwargs: Any) -> Any:
            if torch.is_grad_enabled():
                return original(*args, **kwargs)
            kwargs |= dict(zip(("p", "training", "inplace"), args[1:], strict=False)) | {"training": False}
            return original(*args[:1], **kwargs)

        return drop

    for name in DROPS:  # functions do not know of the model's mode
        control.wrap(F, name, around)
