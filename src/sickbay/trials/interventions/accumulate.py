"""Gradients of several batches make one update."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from sickbay.trials.control import Control, parameters_of
from sickbay.trials.registry import intervention
from sickbay.trials.values import count


@intervention("make one update of the mean gradient of so many", parse=count, default="8", label="gradients of {} batches per update")
def accumulate(control: Control, batches: int) -> None:
    """A parameter without a gradient is left alone by every optimizer: between the updates all of them are."""
    kept: WeakKeyDictionary[Any, tuple[int, dict[int, Any]]] = WeakKeyDictionary()

    def act(optimizer: Any) -> None:
        seen, sums = kept.get(optimizer, (0, {}))
        with control.unseen():
            for i, parameter in enumerate(parameters_of(optimizer)):
                if parameter.grad is not None:
                    share = parameter.grad / max(batches, 1)
                    sums[i] = sums[i] + share if i in sums else share
                parameter.grad = sums.get(i) if seen + 1 >= batches else None
        kept[optimizer] = (seen + 1, sums) if seen + 1 < batches else (0, {})

    control.before_step(act)
