"""Predicted and given classes, where a loss function makes them plain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from sickbay.observe.numbers import Array
from sickbay.observe.observer import IGNORED, LossCall

MOST_CLASSES = 64
MOST_PREDICTIONS = 2**20
"""Predictions are compared with targets up to this many numbers: beyond it, argmax would cost more than it tells."""


@dataclass(slots=True)
class Compared:
    """The predictions of one batch beside its labels; copies, so that the comparison can wait."""

    predicted: torch.Tensor
    target: torch.Tensor
    classes: int
    ignored: int = IGNORED
    maps: bool = False
    """There is one for every pixel, token or tag of a sample."""
    soft: torch.Tensor | None = None
    """Whether a map of a training loss holds anything but 0 and 1; None where that is not asked."""
    judged: tuple[Array, Array] | None = None
    """Both where the loss looks: kept, as it is asked for several times."""

    def accuracy(self) -> float | None:
        """None if every label is one that the loss leaves out."""
        predicted, target = self._judged()
        return np.count_nonzero(predicted == target) / len(target) if len(target) else None

    def counts(self) -> Array | None:
        """How often each class was predicted, where the loss looks."""
        if self.classes > MOST_CLASSES:
            return None
        return np.bincount(self._judged()[0], minlength=self.classes)

    def _judged(self) -> tuple[Array, Array]:
        if self.judged is None:
            predicted, target = self.predicted.reshape(-1).cpu().numpy(), self.target.reshape(-1).cpu().numpy()
            seen = target != self.ignored
            self.judged = (predicted, target) if seen.all() else (predicted[seen], target[seen])
        return self.judged

    def labels(self) -> Array | None:
        """How often each class was due, of maps only: labels of whole samples are counted on every step (labels.py)."""
        if not self.maps or self.classes > MOST_CLASSES or (self.soft is not None and bool(self.soft)):
            return None
        due = self._judged()[1]
        return np.bincount(due[(due >= 0) & (due < self.classes)], minlength=self.classes)


def compared(call: LossCall) -> Compared | None:
    """What the model predicts, and what it should; None where the loss does not tell."""
    x, y = call.input, call.target
    if y is None or not y.numel() or x.numel() > MOST_PREDICTIONS:
        return None
    classes = x.shape[1] if x.dim() > 1 and x.shape[1] > 1 else 2
    with torch.no_grad():
        if call.function in ("cross_entropy", "nll_loss") and x.dim() > 1 and not y.is_floating_point() and y.dim() == x.dim() - 1:
            return Compared(x.argmax(1), y.clone(), classes, call.ignored, y.dim() > 1)
        if call.function in ("binary_cross_entropy", "binary_cross_entropy_with_logits") and x.shape == y.shape:
            threshold = 0.5 if call.function == "binary_cross_entropy" else 0.0
            maps = x.dim() > 2 or (x.dim() == 2 and x.shape[1] > 1)
            soft = ((y != 0) & (y != 1)).any() if maps and call.grad else None
            return Compared((x > threshold).long(), (y > 0.5).long(), 2, maps=maps, soft=soft)
    return None
