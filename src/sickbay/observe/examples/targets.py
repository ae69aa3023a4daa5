"""The one thing that each sample should be answered with, where a loss function makes it plain: a class, or a number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from sickbay.observe.numbers import Array
from sickbay.observe.observer import LossCall

CLASSES, NUMBERS = "classes", "numbers"
BY_INDEX = ("cross_entropy", "nll_loss", "multi_margin_loss")
BY_NUMBER = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
BINARY = ("binary_cross_entropy", "binary_cross_entropy_with_logits", "soft_margin_loss")
MOST_CLASSES = 1000
POSITIONS = 5
"""Labels 0, 1, 2... in order are places in the batch (contrastive losses), unless there are so few that chance makes them: the last batch of an epoch may hold two samples."""


@dataclass(slots=True)
class Targets:
    kind: str
    values: Array
    """Class numbers, or numbers."""
    choices: int = 0
    """Classes that the model chooses from: one line may train several models, each for a task of its own."""

    def part(self, rows: slice) -> Targets:
        return Targets(self.kind, self.values[rows], self.choices)


def targets_of(call: LossCall) -> Targets | None:
    """One target per row; None for anything else: sequences, images, several labels at once, soft labels, positions within the batch."""
    x, y = call.input, call.target
    if y is None or y.requires_grad or not y.numel() or x.dim() == 0:
        return None
    y = y.detach()
    if call.function in BY_INDEX and not y.is_floating_point() and y.dim() == 1 and x.dim() == 2 and len(x) == len(y):
        return classes_of(y.cpu().numpy(), x.shape[1])
    if y.dim() == 2 and y.shape[1] > 1 and y.shape == x.shape and (named := one_hot_classes(y)) is not None:
        return classes_of(named, y.shape[1])
    if y.numel() != y.shape[0] or x.numel() != y.numel():
        return None
    values = y.reshape(-1).float().cpu().numpy().astype(np.float64)
    if call.function in BINARY:
        if not np.isin(values, (-1.0, 0.0, 1.0)).all():
            return None
        return Targets(CLASSES, (values > 0).astype(np.float64))
    if call.function in BY_NUMBER and np.isfinite(values).all():
        return Targets(NUMBERS, values)
    return None


def classes_of(named: Array, choices: int = 0) -> Targets | None:
    """Class numbers, unless they are places in the batch, or no class numbers."""
    positions = len(named) >= POSITIONS and bool((named == np.arange(len(named))).all())
    if positions or named.min() < 0 or named.max() >= MOST_CLASSES:
        return None
    return Targets(CLASSES, named.astype(np.float64), choices)


def one_hot_classes(y: torch.Tensor) -> Array | None:
    """The class of each row; None unless all are one-hot."""
    values = y.float().cpu().numpy()
    hot = bool(np.isin(values, (0.0, 1.0)).all()) and bool((values.sum(1) == 1).all())
    return np.asarray(values.argmax(1)) if hot else None
