"""Loaders fetch with another number of worker processes."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Call, Control
from sickbay.trials.registry import intervention
from sickbay.trials.values import count


@intervention("load data with so many worker processes", parse=count, default="2", label="{} loader workers")
def workers(control: Control, number: int) -> None:
    import torch

    def around(original: Call) -> Call:
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            if not number:
                for name in ("prefetch_factor", "persistent_workers", "timeout", "multiprocessing_context"):
                    kwargs.pop(name, None)
            original(self, *args, **kwargs | {"num_workers": number})

        return __init__

    control.wrap(torch.utils.data.DataLoader, "__init__", around)
