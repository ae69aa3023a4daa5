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

ORDERED = 2000
"""Batches whose order is followed: several epochs of anything small."""
MOST_CLASSES = 1000
IGNORED = (-100, -1, 255)
"""Marks for "no label": cross entropy's own, and two that many scripts choose."""


class LabelBook:
    """Classes are whole numbers (also as floats 0 and 1); anything else with a fraction is a number."""

    def __init__(self) -> None:
        self.kind = ""
        self.usable = True
        self.histogram: dict[int, int] = {}
        self.order = LabelWatch(None)  # type: ignore[arg-type]  # what it asks of a session, it is not asked here
        self.batches = 0
        self.nonfinite = 0

    def add(self, batches: list[Array]) -> Targets | None:
        """The targets of some batches, one number per sample; returns them for the questions about examples."""
        values = np.concatenate(batches)
        kind = _kind(values)
        if not self.kind:
            self.kind = kind
        if kind == NUMBERS and self.kind == CLASSES:  # the first ones happened to be 0 and 1
            self.kind, self.histogram = NUMBERS, {}
            self.order = LabelWatch(None)  # type: ignore[arg-type]
        if self.kind == CLASSES:
            self._count(values)
        if self.batches < ORDERED:
            self._follow(batches)
        self.batches += len(batches)
        return self.targets(values)

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

    def _follow(self, batches: list[Array]) -> None:
        for values in batches[: ORDERED - self.batches]:
            fine = values.astype(np.int64) if self.kind == CLASSES else values.astype(np.float32)
            if len(fine) and (self.kind == CLASSES or np.isfinite(fine).all()):
                self.order.waiting.append(fine)
        self.order.catch_up()

    def fact(self, sequential: bool | None, same_order: bool | None) -> LabelOrder | None:
        order = self.order.fact(same_order)
        return replace(order, sequential_sampler=sequential, loader=0) if order is not None else None

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
