"""Given samples are left out of every training batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sickbay.trials.control import Call, Control
from sickbay.trials.registry import intervention
from sickbay.trials.values import indices


@intervention(
    "leave these samples out of training, by their place in the data set: drop-samples=3,17", parse=indices, label="samples {} left out", eases=True
)
def drop_samples(control: Control, doomed: frozenset[int]) -> None:
    import torch

    def around(original: Call) -> Call:
        def __iter__(self: Any) -> Iterator[Any]:
            for batch in original(self):
                kept = [i for i in batch if i not in doomed] if torch.is_grad_enabled() else batch  # evaluation has its own data
                if kept:
                    yield kept

        return __iter__

    control.wrap(torch.utils.data.BatchSampler, "__iter__", around)
