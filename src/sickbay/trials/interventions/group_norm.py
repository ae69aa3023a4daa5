"""Batch normalisation becomes group normalisation, which needs no other samples."""

from __future__ import annotations

import math
from typing import Any

from sickbay.trials.control import Call, Control
from sickbay.trials.registry import intervention

GROUPS = 8


@intervention("put group normalisation in place of batch normalisation", label="group normalisation in place of batch normalisation")
def group_norm(control: Control) -> None:
    import torch
    from torch.nn import functional as F

    grouped = F.group_norm

    def around(original: Call) -> Call:
        def forward(self: Any, given: Any) -> Any:
            # One channel per group and one value per channel would leave nothing but zeros.
            groups = math.gcd(GROUPS, given.shape[1]) if given.shape[1] > GROUPS else 1
            return grouped(given, groups, self.weight, self.bias, self.eps)

        return forward

    for kind in {torch.nn.modules.batchnorm._BatchNorm, *torch.nn.modules.batchnorm._BatchNorm.__subclasses__()}:
        if "forward" in vars(kind):
            control.wrap(kind, "forward", around)
