"""A loss that expects logits is given the logits behind the probabilities."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Call, Control
from sickbay.trials.probabilities import from_sigmoid, from_softmax, made_by, sums_to_one
from sickbay.trials.registry import intervention

FROM_LOGITS = ("cross_entropy", "binary_cross_entropy_with_logits", "multilabel_soft_margin_loss", "soft_margin_loss")


@intervention("give losses that expect logits the logits, where the script gives probabilities", label="logits recovered", redefines_loss=True)
def feed_logits(control: Control) -> None:
    import torch
    from torch.nn import functional as F

    squashed: dict[str, str] = {}
    """By loss function: what its input was found to come from, for evaluation, where there is no graph to ask."""

    def recovered(name: str, given: Any, axis: int) -> Any:
        if not isinstance(given, torch.Tensor) or not given.is_floating_point():
            return given
        if given.grad_fn is None:
            kind = squashed.get(name, "")
        elif made_by(given, "Sigmoid"):
            kind = squashed[name] = "sigmoid"
        elif made_by(given, "Softmax") and sums_to_one(given, axis):
            kind = squashed[name] = "softmax"
        else:
            kind = ""
        return from_sigmoid(given) if kind == "sigmoid" else from_softmax(given) if kind == "softmax" else given

    def change(name: str, given: Any, target: Any, options: dict[str, Any]) -> tuple[Any, Any]:
        return recovered(name, given, 1 if getattr(given, "dim", lambda: 0)() > 1 else 0), target

    def around(original: Call) -> Call:
        def log_softmax(given: Any, dim: Any = None, *args: Any, **kwargs: Any) -> Any:
            axis = kwargs.get("dim", dim)
            if control.session.busy or not isinstance(axis, int):
                return original(given, *([] if dim is None else [dim]), *args, **kwargs)
            return original(recovered("log_softmax", given, axis), *([] if dim is None else [dim]), *args, **kwargs)

        return log_softmax

    control.loss_calls(change, FROM_LOGITS)
    for owner in (torch, torch.Tensor, F):
        control.wrap(owner, "log_softmax", around)
