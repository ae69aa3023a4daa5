"""Dropout lets everything through."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Call, Control
from sickbay.trials.registry import intervention


@intervention("switch dropout off", label="no dropout", redefines_loss=True)
def no_dropout(control: Control) -> None:
    import torch
    from torch.nn import functional as F

    def around(original: Call) -> Call:
        def dropout(given: Any, *args: Any, **kwargs: Any) -> Any:
            return given

        return dropout

    for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout", "feature_dropout"):
        for owner in (F, torch):
            control.wrap(owner, name, around)
