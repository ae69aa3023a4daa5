"""Every step is given the first batch, whole or a few rows of it."""

from __future__ import annotations

from typing import Any

from sickbay.exams.randomness import Randomness
from sickbay.trials.control import Control, mapped, tensors_in
from sickbay.trials.registry import intervention
from sickbay.trials.values import count


@intervention("train on the first batch over and over, or on so many rows of it", parse=count, default="0", label="one batch")
def one_batch(control: Control, rows: int) -> None:
    first: dict[int, tuple[Any, Any]] = {}
    """By the identity of the data set (which may be a tensor or a list): the data set, to keep it what it is, and its first batch."""
    start: Randomness | None = None

    def same(iterator: Any, batch: Any) -> Any:
        source = iterator._dataset
        if id(source) not in first:
            first[id(source)] = source, _rows(batch, rows)
        return mapped(first[id(source)][1], lambda t: t.clone())

    def again(optimizer: Any) -> None:
        """A script that draws its batches itself, from random numbers, draws the same ones again."""
        nonlocal start
        if first:
            return
        if start is None:
            start = Randomness.taken()
        else:
            start.restore()

    control.batches(same)
    control.after_step(again)


def _rows(batch: Any, rows: int) -> Any:
    tensors = [t for t in tensors_in(batch) if t.dim()]
    size = tensors[0].shape[0] if tensors else 0
    if not rows or rows >= size:
        return mapped(batch, lambda t: t.detach().clone())
    return mapped(batch, lambda t: t[:rows].detach().clone() if t.dim() and t.shape[0] == size else t)
