"""The loss of each accumulated batch is divided by their number."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Call, Control
from sickbay.trials.registry import intervention
from sickbay.trials.values import count


@intervention(
    "divide the loss by the number of accumulated batches (of the cycle before, if none is given)",
    parse=count,
    default="0",
    label="loss scaled",
    redefines_loss=True,
)
def scale_accumulation(control: Control, batches: int) -> None:
    import torch

    usual, since = max(batches, 1), 0

    def around(original: Call) -> Call:
        def backward(tensors: Any, grad_tensors: Any = None, *args: Any, **kwargs: Any) -> Any:
            nonlocal since
            if control.session.busy or not isinstance(tensors, torch.Tensor) or grad_tensors is not None or usual == 1:
                since += not control.session.busy
                return original(tensors, grad_tensors, *args, **kwargs)
            since += 1
            # The scaled loss rather than a scaled gradient: it is what the script would write.
            return original(tensors / usual, None, *args, **kwargs)

        return backward

    def stepped(optimizer: Any) -> None:
        nonlocal usual, since
        usual, since = batches or max(since, 1), 0

    control.wrap(torch.autograd, "backward", around)
    control.after_step(stepped)
