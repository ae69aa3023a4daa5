"""Which tensor of a loader's batch is the target: training shows it, and evaluation's batches are built alike.

Then a model's output outside training and the batch that it was made of tell how many answers are right, however the script counts them (in numpy, by scikit-learn).
Only weak references to the newest batch are held.
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import torch

from sickbay.observe.loaded import MOST_TENSORS, tensors
from sickbay.observe.observer import LossCall
from sickbay.observe.predictions import MOST_PREDICTIONS

LOOKS = 4
"""Training losses whose targets are looked for in the batch; all have to agree."""
CLASSES = frozenset({"cross_entropy", "nll_loss"})
YES_OR_NO = {"binary_cross_entropy": 0.5, "binary_cross_entropy_with_logits": 0.0}
"""Losses of two answers, and the score from which on the answer is yes."""


class Slot(NamedTuple):
    """Where in a batch the target is, and what the loss says of the answers."""

    position: int
    size: int
    """Tensors in the batch."""
    function: str
    classes: int


class BatchTargets:
    """The newest batch, and what training showed of its layout."""

    def __init__(self) -> None:
        self.newest: list[weakref.ref[torch.Tensor]] = []
        self.fresh = False
        """No forward pass has used it yet."""
        self.slot: Slot | None = None
        self.looks = 0

    def load(self, batch: Any) -> None:
        self.newest = [weakref.ref(t) for t, _ in zip(tensors(batch), range(MOST_TENSORS), strict=False)]
        self.fresh = True

    def learn(self, call: LossCall) -> None:
        """A training loss: which tensor of the batch is its target?"""
        if self.looks >= LOOKS or call.target is None or not self.newest:
            return
        self.looks += 1
        target, classes = call.target, call.input.shape[1] if call.input.dim() > 1 else 1
        known = (call.function in CLASSES and not target.is_floating_point()) or call.function in YES_OR_NO
        held = [ref() for ref in self.newest]
        at = [i for i, t in enumerate(held) if t is not None and _same(t, target)] if known else []
        slot = Slot(at[0], len(held), call.function, classes) if len(at) == 1 else None
        if slot is None or (self.slot is not None and slot != self.slot):
            self.looks, self.slot = LOOKS, None
        else:
            self.slot = slot

    def right(self, output: Any) -> tuple[int, int] | None:
        """Of the answers that an output gives to the newest batch: how many are right, and how many there are; None if that is not known."""
        slot = self.slot
        if slot is None or len(self.newest) != slot.size or not isinstance(output, torch.Tensor) or output.numel() > MOST_PREDICTIONS:
            return None
        target = self.newest[slot.position]()
        if target is None or target.device != output.device or not target.numel():
            return None
        if slot.function in CLASSES:
            if (
                output.dim() < 2
                or output.shape[1] != slot.classes
                or target.is_floating_point()
                or output.shape[:1] + output.shape[2:] != target.shape
            ):
                return None
            answers = output.argmax(1)
        else:
            if output.numel() != target.numel() or len(output) != len(target):
                return None
            answers, target = (output > YES_OR_NO[slot.function]).reshape(-1), target.reshape(-1) > 0.5
        return int(torch.count_nonzero(answers == target)), target.numel()


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """One is the other, seen otherwise (another shape, floats instead of integers)."""
    if a.numel() != b.numel() or a.device != b.device:
        return False
    return a.data_ptr() == b.data_ptr() or bool((a.reshape(-1) == b.reshape(-1)).all())
