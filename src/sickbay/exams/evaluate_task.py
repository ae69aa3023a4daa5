"""What a model's outputs and targets are: one class of several, yes or no, several labels at once, numbers; told from their shapes and values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sickbay.errors import UsageError
from sickbay.exams.evaluate_classes import ClassTally, SeenClasses
from sickbay.exams.evaluate_labels import Labels
from sickbay.exams.evaluate_numbers import Numbers

Array = NDArray[Any]
MOST_NUMBERS = 256
"""Of one sample's numbers (an image as target) so many are taken, evenly spread."""
SUM = 1e-3
"""How far from 1 the sum of probabilities may be: half precision gives about this much."""
CERTAINLY = 30
"""Numbers between 0 and 1 from which they are taken for probabilities also where the loss function says logits: so many logits are never all in there."""


class Tally:
    """Takes batches one after the other. `counts` is there from the first for classes; what has one number per target is judged when all are seen."""

    def __init__(self, loss: str = "") -> None:
        self.loss = loss
        """The loss function's class, where one was given."""
        self.counts: ClassTally | None = None
        self.unit = "samples"
        self.axis: int | None = None
        self.probabilities: bool | None = None
        self.outputs: list[Array] = []
        self.targets: list[Array] = []
        self.notes: list[str] = []

    def add(self, output: torch.Tensor, target: torch.Tensor) -> None:
        output = output.to_dense() if output.layout != torch.strided else output
        target = target.to(output.device)
        axis = class_axis(output, target)
        if axis is not None:
            self._classes(output, target, axis)
        elif _same(output, target) and output.numel() // len(output) > 1 and output.dim() > 2 and self._yes_or_no(target):
            self._maps(output, target)
        elif _same(output, target):
            self._numbers(output, target)
        else:
            raise UsageError(
                f"outputs of {tuple(output.shape)} and targets of {tuple(target.shape)} ({str(target.dtype).removeprefix('torch.')}) do not fit: expected "
                "(rows, classes) with whole numbers of (rows,), maps of these, or two of the same shape"
            )

    # -- classes ------------------------------------------------------------------------------------------------

    def _classes(self, output: torch.Tensor, target: torch.Tensor, axis: int) -> ClassTally:
        x = output.float().movedim(axis, -1).reshape(len(output), -1, output.shape[axis])
        y = target.reshape(len(target), -1).long()
        if self.probabilities is None:
            self.probabilities = sums_to_one(x)
            if self.probabilities and self.loss == "CrossEntropyLoss":
                self.notes.append(
                    "the outputs sum to 1 already, but CrossEntropyLoss expects logits (see `sickbay explain softmax-before-cross-entropy`)"
                )
            self.unit = "samples" if y.shape[1] == 1 else "tokens" if output.dim() == 3 else "pixels"
        counts = self._tally(x.shape[2], yes_or_no=False)
        logs = x.clamp_min(1e-12).log() if self.probabilities else x.log_softmax(-1)
        best, predicted = logs.max(-1)
        known = (y >= 0) & (y < x.shape[2])
        loss = -logs.gather(-1, torch.where(known, y, 0).unsqueeze(-1)).squeeze(-1)
        finite = torch.isfinite(x).all(-1)
        sure = torch.where(finite, best.exp().clamp(0, 1), math.nan)
        counts.add(SeenClasses(*(t.cpu().numpy() for t in (predicted, y, sure, loss))))
        return counts

    def _maps(self, output: torch.Tensor, target: torch.Tensor) -> None:
        """Yes or no for every pixel."""
        if self.probabilities is None:
            self.probabilities = within_one(output)
            self.unit = "pixels"
        elif self.probabilities and not within_one(output):
            raise UsageError(
                "the first outputs lie between 0 and 1, later ones do not: give loss_fn, so that it is known whether they are probabilities"
            )
        self._yes_no_add(output.float().reshape(len(output), -1), target.reshape(len(target), -1))

    def _yes_no_add(self, x: torch.Tensor, y: torch.Tensor) -> ClassTally:
        counts = self._tally(2, yes_or_no=True)
        likely = x.clamp(0, 1) if self.probabilities else x.sigmoid()
        yes = y > 0.5
        own = torch.where(yes, likely, 1 - likely).clamp_min(1e-12).log()
        loss = -own if self.probabilities else torch.nn.functional.softplus(torch.where(yes, -x, x))
        counts.add(SeenClasses(*(t.cpu().numpy() for t in ((likely > 0.5).long(), yes.long(), likely, loss))))
        return counts

    def _tally(self, classes: int, *, yes_or_no: bool) -> ClassTally:
        if self.counts is None:
            self.counts = ClassTally(classes, yes_or_no=yes_or_no)
        if self.outputs or self.counts.classes != classes:
            raise UsageError("batches differ in what they hold: the same kind of outputs and targets is expected of all")
        return self.counts

    # -- one number per target ----------------------------------------------------------------------------------

    def _numbers(self, output: torch.Tensor, target: torch.Tensor) -> None:
        x, y = (t.reshape(len(t), -1) for t in (output, target))
        every = -(-x.shape[1] // MOST_NUMBERS)
        if self.counts is not None or (self.outputs and self.outputs[0].shape[1] != x[:, ::every].shape[1]):
            raise UsageError("batches differ in what they hold: the same kind of outputs and targets is expected of all")
        if every > 1 and not self.notes:
            self.notes.append(f"of each sample's {x.shape[1]:,} numbers, {x[:, ::every].shape[1]} were taken, evenly spread")
        self.outputs.append(x[:, ::every].float().cpu().numpy())
        self.targets.append(y[:, ::every].float().cpu().numpy())

    def judged(self) -> ClassTally | Labels | Numbers:
        """What all batches together are."""
        if self.counts is not None:
            return self.counts
        if not self.outputs:
            raise UsageError("the loader gave no batch: there is nothing to evaluate")
        x, y = np.concatenate(self.outputs), np.concatenate(self.targets)
        if not np.isin(y, (0.0, 1.0)).all():
            return Numbers(x, y)
        self.outputs, self.targets = [], []
        if y.shape[1] == 1:
            self.probabilities = self._probabilities(x)
            return self._yes_no_add(torch.from_numpy(x), torch.from_numpy(y))
        if bool((y.sum(1) == 1).all()) and not self.loss.startswith("BCE"):
            return self._classes(torch.from_numpy(x), torch.from_numpy(y.argmax(1)), 1)
        self.probabilities = self._probabilities(x)
        return Labels(x if self.probabilities else 1 / (1 + np.exp(-np.clip(x.astype(np.float64), -700, 700))), y)

    def _probabilities(self, x: Array) -> bool:
        inside = bool(((x >= 0) & (x <= 1))[np.isfinite(x)].all())
        if inside and self.loss == "BCEWithLogitsLoss" and x.size >= CERTAINLY:
            self.notes.append(
                "the outputs lie between 0 and 1 already, but BCEWithLogitsLoss expects logits (see `sickbay explain softmax-before-cross-entropy`)"
            )
        return inside and (self.loss != "BCEWithLogitsLoss" or x.size >= CERTAINLY)

    def _yes_or_no(self, target: torch.Tensor) -> bool:
        return (self.counts is not None and self.counts.yes_or_no) or bool(((target == 0) | (target == 1)).all())


def class_axis(output: torch.Tensor, target: torch.Tensor) -> int | None:
    """Where the classes lie, if targets are their numbers: second as torch's losses have it, or last."""
    if target.is_floating_point() or target.is_complex() or output.dim() != target.dim() + 1:
        if target.dim() == 2 and target.shape[1] == 1 and output.dim() == 2 and output.shape[1] > 1 and not target.is_floating_point():
            return 1  # (rows, 1), as many data sets keep them
        return None
    if output.shape[1] > 1 and output.shape[2:] == target.shape[1:]:
        return 1
    return output.dim() - 1 if output.shape[:-1] == target.shape and output.shape[-1] > 1 else None


def sums_to_one(x: torch.Tensor) -> bool:
    """Rows of probabilities."""
    return bool((x >= 0).all()) and bool(((x.sum(-1) - 1).abs() < SUM).all())


def within_one(x: torch.Tensor) -> bool:
    return bool(((x >= 0) & (x <= 1)).all())


def _same(output: torch.Tensor, target: torch.Tensor) -> bool:
    """The same numbers of values per sample, a lone axis of one aside."""
    return [s for s in output.shape[1:] if s != 1] == [s for s in target.shape[1:] if s != 1]
