"""The targets of a pass, where each sample has one: how many of each class, and in which order they come."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from sickbay.facts.data import LabelOrder
from sickbay.observe.examples.targets import CLASSES, NUMBERS, Targets
from sickbay.observe.labels import LabelWatch
from sickbay.observe.numbers import Array

MOST_SAMPLED = 1000
"""Batches whose own classes are counted."""
MOST_CLASSES = 1000
LARGEST = 10_000
"""Class number whose order is followed."""


class LabelBook:
    """Classes are whole numbers (also as floats 0 and 1); anything else with a fraction is a number."""

    def __init__(self) -> None:
        self.kind = ""
        self.usable = True
        self.histogram: dict[int, int] = {}
        self.batches = self.rows = self.changes = self.ascending = self.neighbours = 0
        self.last: float | None = None
        self.sampled: list[tuple[int, float]] = []
        """Of single batches: different classes, share of the commonest."""

    def add(self, values: Array, sizes: list[int]) -> Targets | None:
        """The targets of some batches, one number per sample; returns them for the questions about examples."""
        told = self.targets(values)
        if self.kind == CLASSES and values.dtype.kind == "f" and _kind(values) == NUMBERS:  # the first ones happened to be 0 and 1
            self.kind, self.histogram = NUMBERS, {}
            told = self.targets(values)
        if self.kind == CLASSES:
            self._count(values)
            if len(self.sampled) < MOST_SAMPLED and len(values):
                counts = np.unique(values[: sizes[0]], return_counts=True)[1]
                self.sampled.append((len(counts), float(counts.max() / sizes[0])))
        self.batches += len(sizes)
        self.rows += len(values)
        self.changes += int(np.count_nonzero(values[1:] != values[:-1])) + (self.last is not None and float(values[0]) != self.last)
        self.ascending += int(np.count_nonzero(values[1:] >= values[:-1]))
        self.neighbours += len(values) - 1
        self.last = float(values[-1])
        return told

    def targets(self, values: Array) -> Targets | None:
        """As the questions about examples take them; None where there are too many classes."""
        self.kind = self.kind or _kind(values)
        return Targets(self.kind, values.astype(np.float64)) if self.usable else None

    def _count(self, values: Array) -> None:
        named, counts = _counted(values)
        for label, count in zip(named, counts, strict=True):
            self.histogram[label] = self.histogram.get(label, 0) + count
        if len(self.histogram) > MOST_CLASSES:
            self.usable = False

    def fact(self, sequential: bool | None, same_order: bool | None) -> LabelOrder | None:
        """In the words of a run; what it counts per batch is counted on some of them here."""
        order = LabelWatch(None)  # type: ignore[arg-type]  # what it asks of a session, it is not asked here
        order.batches, order.total, order.changes = self.batches, self.rows, self.changes
        if self.kind == CLASSES and self.sampled and min(self.histogram) >= 0 and max(self.histogram) < LARGEST:
            order.histogram = np.bincount(list(self.histogram), list(self.histogram.values())).astype(np.int64)
            distinct, majority = np.mean(self.sampled, axis=0)
            order.distinct, order.majority = distinct * self.batches, float(majority) * self.batches
        elif self.kind == NUMBERS:
            order.neighbours, order.ascending = self.neighbours, self.ascending
        fact = order.fact(same_order)
        return replace(fact, sequential_sampler=sequential, loader=0) if fact is not None else None

    def classes(self) -> tuple[tuple[int, int], ...]:
        return tuple(sorted(self.histogram.items())[:MOST_CLASSES])


def _kind(values: Array) -> str:
    if values.dtype.kind in "biu":
        return CLASSES
    return CLASSES if bool(np.isin(values, (0.0, 1.0)).all()) else NUMBERS


def _counted(values: Array) -> tuple[list[int], list[int]]:
    whole = values.astype(np.int64)
    low, high = int(whole.min()), int(whole.max())
    if high - low < 1 << 16:
        counts = np.bincount(whole - low)
        named = np.flatnonzero(counts)
        return (named + low).tolist(), counts[named].tolist()
    found, many = np.unique(whole, return_counts=True)
    return found[: MOST_CLASSES + 1].tolist(), many[: MOST_CLASSES + 1].tolist()


def numbers_of(x: Any) -> Array:
    """The targets of one batch as an array of their own."""
    held: torch.Tensor = x.detach().reshape(-1)
    return np.array((held.float() if held.dtype in (torch.bfloat16, torch.float16) else held).cpu().numpy())
