"""The script clips at a higher limit, or not at all."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Call, Control
from sickbay.trials.registry import intervention
from sickbay.trials.values import positive


@intervention("clip at this limit instead of the script's own", parse=positive, default="1e9", label="clipping loosened to {}")
def loosen_clipping(control: Control, limit: float) -> None:
    import torch

    def around(original: Call) -> Call:
        def clip(parameters: Any, given: Any = None, *args: Any, **kwargs: Any) -> Any:
            names = [k for k in ("max_norm", "clip_value") if k in kwargs]
            for name in names:
                kwargs[name] = max(float(kwargs[name]), limit)
            return original(parameters, *([] if names else [max(float(given), limit)]), *args, **kwargs)

        return clip

    for owner in (torch.nn.utils, torch.nn.utils.clip_grad):
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            control.wrap(owner, name, around)
