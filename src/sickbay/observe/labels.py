"""The order in which training meets its labels: runs of one class, sorted numbers, the same order every epoch."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sickbay import facts
from sickbay.nouns import Place
from sickbay.observe.observer import LossCall
from sickbay.observe.places import here

if TYPE_CHECKING:
    from sickbay.observe.batches import LoaderEntry
    from sickbay.observe.session import Session

MOST_LABELS = 65_536
MOST_CLASSES = 10_000


class LabelWatch:
    """Class labels in the order in which training meets them."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.histogram = np.zeros(0, np.int64)
        self.waiting: list[Any] = []
        self.batches = 0
        self.total = 0
        self.distinct = 0
        self.majority = 0.0
        self.changes = 0
        self.last_label: int | None = None
        self.gaps = 0
        self.broken = False
        self.prints: list[int] = []
        self.neighbours = 0
        self.ascending = 0
        """For number targets: neighbouring samples, and those whose target does not fall."""
        self.loader: LoaderEntry | None = None
        self.place: Place | None = None
        self.pending: tuple[Any, LoaderEntry | None] | None = None

    def see(self, call: LossCall, loader: LoaderEntry | None) -> None:
        labels = _labels(call)
        self.pending = (labels, loader) if labels is not None else None
        if self.place is None and labels is not None:
            self.place = here()

    def training(self) -> None:
        """Backward followed: those were training labels."""
        if self.pending is None:
            return
        labels, self.loader = self.pending
        self.pending = None
        self.waiting.append(labels)

    def gap(self) -> None:
        """Some steps were not watched: runs of labels do not cross it, and the order is not compared beyond it."""
        self.gaps += 1
        self.waiting.append(None)

    def catch_up(self) -> None:
        """Count the labels that wait: in one go now and then, to keep the arithmetic out of the steps."""
        for labels in self.waiting:
            if labels is not None and not self.broken:
                self.prints.append(zlib.crc32(labels.tobytes()))
            if labels is None:
                self.broken = True
                self.last_label = None
            elif labels.dtype.kind == "f":
                self.batches += 1
                self.total += len(labels)
                self.neighbours += max(len(labels) - 1, 0)
                self.ascending += int((labels[1:] >= labels[:-1]).sum())
            elif labels.min() >= 0 and labels.max() < MOST_CLASSES:
                self._count(labels)
        self.waiting.clear()

    def _count(self, labels: Any) -> None:
        counts = np.bincount(labels)
        if len(counts) > len(self.histogram):
            self.histogram = np.concatenate([self.histogram, np.zeros(len(counts) - len(self.histogram), np.int64)])
        self.histogram[: len(counts)] += counts
        self.batches += 1
        self.total += len(labels)
        self.distinct += int((counts > 0).sum())
        self.majority += counts.max() / len(labels)
        self.changes += int((labels[1:] != labels[:-1]).sum()) + (self.last_label is not None and int(labels[0]) != self.last_label)
        self.last_label = int(labels[-1])

    def fact(self, same_order: bool | None) -> facts.LabelOrder | None:
        classes = int((self.histogram > 0).sum())
        if self.neighbours:
            return self._numbers(same_order)
        if self.batches < 2 or classes < 2:
            return None
        share = self.histogram / self.total
        size = self.total / self.batches
        expected_distinct = float((1 - (1 - share) ** size).sum())
        loader = self.loader.fact if self.loader is not None else None
        return facts.LabelOrder(
            classes=classes,
            histogram=tuple(int(n) for n in self.histogram[:1000]),
            batches=self.batches,
            batch_size=size,
            distinct_mean=self.distinct / self.batches,
            distinct_expected=expected_distinct,
            majority_mean=self.majority / self.batches,
            majority_expected=_expected_majority(share, round(size)),
            run_length=self.total / (self.changes + 1),
            run_length_expected=float(1 / max(1 - (share**2).sum(), 1e-9)),
            sequential_sampler=loader.sequential if loader is not None and not loader.stream else None,
            same_order_each_epoch=same_order,
            loader=loader.index if loader is not None else None,
            place=(self.loader.place if self.loader is not None else None) or self.place,
        )

    def _numbers(self, same_order: bool | None) -> facts.LabelOrder:
        """The order of number targets."""
        loader = self.loader.fact if self.loader is not None else None
        return facts.LabelOrder(
            batches=self.batches,
            batch_size=self.total / self.batches,
            sequential_sampler=loader.sequential if loader is not None and not loader.stream else None,
            same_order_each_epoch=same_order,
            loader=loader.index if loader is not None else None,
            place=(self.loader.place if self.loader is not None else None) or self.place,
            ascending_share=self.ascending / self.neighbours,
        )


def _labels(call: LossCall) -> Any:
    """Class labels as integers, or single number targets as they are; None for anything else."""
    target = call.target
    assert target is not None
    if not 0 < target.numel() <= MOST_LABELS or not target.dim():  # a single sample's target by itself has no order
        return None
    if call.function in ("cross_entropy", "nll_loss", "multi_margin_loss") and not target.is_floating_point() and target.dim() == 1:
        labels = target.numpy()
        kept = labels[labels != call.ignored]  # a copy: the script may reuse its buffer
        return kept if len(kept) else None
    if call.function in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss") and target.numel() == target.shape[0] and target.is_floating_point():
        return _numbers(target).copy()
    binary = call.function in ("binary_cross_entropy", "binary_cross_entropy_with_logits")
    if binary and target.is_floating_point() and target.numel() == target.shape[0]:
        values = _numbers(target)
        return values.astype(np.int64) if ((values == 0) | (values == 1)).all() else None
    return None


def _numbers(target: torch.Tensor) -> Any:
    values = target.detach().reshape(-1)
    return (values if values.dtype in (torch.float32, torch.float64) else values.float()).numpy()  # numpy knows no bfloat16


def _expected_majority(share: Any, size: int) -> float:
    """Share of the commonest class in a random batch, by simulation with our own generator."""
    if size < 1 or len(share) > 1000:
        return 0.0
    draws = np.random.default_rng(0).multinomial(size, share / share.sum(), size=64)
    return float(draws.max(axis=1).mean() / size)


def periodic(prints: list[int]) -> bool | None:
    """Whether batches come in the very same order again; None while too few were seen to tell."""
    marks = np.array(prints)
    count = len(marks)
    if count < 4 or len(set(prints)) < 2:
        return None
    for period in (np.flatnonzero(marks[1:] == marks[0]) + 1).tolist():
        again = count - period
        if again >= max(2, period // 4) and len(set(prints[:period])) > 1 and bool((marks[period:] == marks[:again]).all()):
            return True
    return False
