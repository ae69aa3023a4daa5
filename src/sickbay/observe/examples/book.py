"""What is kept of the samples that came one way: of training by one line, or of one evaluation."""

from __future__ import annotations

from types import CodeType
from typing import Any

import numpy as np
import torch

from sickbay.observe.examples.reservoir import CAPACITY, Reservoir
from sickbay.observe.examples.rows import TABLE, keys_of, kind_of, numbers_of, table_of
from sickbay.observe.examples.targets import Targets
from sickbay.observe.keys import scattered
from sickbay.observe.numbers import Array

NEW_ROWS = 256
"""Copied of one batch: of larger ones, the rest comes another time."""
MOST_INDICES = 65_536
"""Targets are kept by data set index up to here: neighbours show whether they are shifted."""

Key = tuple[CodeType, int]


class Book:
    """Samples with their targets."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.held = Reservoir(capacity)
        self.kind = ""
        """Of the inputs,"""
        self.table = slice(0)
        """The columns among them, where it is a table,"""
        self.target_kind = ""
        """...and of the targets."""
        self.usable = True
        self.aim: Any = None
        """Where the loss is called,"""
        self.place: Key | None = None
        """...where the model is,"""
        self.caller: Key | None = None
        """...and where the function around it."""
        self.loader: int | None = None
        self.passes = 0
        self.seen_at = -1
        self.indexed: bool | None = None
        """Samples are known by their index in the data set; else by their numbers."""
        self.by_index: Array = np.zeros(0, np.float32)
        self.again = self.changed = 0
        """Samples that came again, number for number; with another target."""
        self.batch_size = 0
        self.idle = 0
        """Batches in a row that held nothing new."""

    def take(self, tensors: list[torch.Tensor], targets: Targets | None, indices: Array | None) -> Array:
        """Add the samples of a batch that belong here, and see what became of those that are here already; returns what they are called."""
        if self.indexed is None:
            self.indexed = indices is not None
        if not self._same_kind(tensors, targets) or (self.indexed and indices is None):
            return np.zeros(0, np.uint64)
        self.batch_size = max(self.batch_size, len(tensors[0]))
        keys = None
        if indices is None or not self.indexed:
            keys = keys_of(tensors)
            names = scattered(keys)
        else:
            names = self.names_of(indices)
            if targets is not None:
                self.note(indices, targets.values)
        rows, places = self.held.choose(names)
        new, old = rows[places < 0][:NEW_ROWS], rows[places >= 0]
        if len(old) and targets is not None:
            now = keys[old] if keys is not None else _keys_of(tensors, old)
            self._meet(targets, old, places[places >= 0], now)
        self.idle = 0 if len(new) else self.idle + 1
        if len(new):
            self._add(tensors, targets, new, names, keys, indices)
        return names

    def judge(self, names: Array, targets: Targets) -> None:
        """The targets of samples that were taken without."""
        if self.target_kind not in ("", targets.kind):
            self.usable = False
            return
        self.target_kind = targets.kind
        rows, places = self.held.choose(names)
        rows, places = rows[places >= 0], places[places >= 0]
        if len(places):
            self._meet(targets, rows, places, self.held.beside["key"][places])

    def _same_kind(self, tensors: list[torch.Tensor], targets: Targets | None) -> bool:
        if not self.kind:
            self.kind = kind_of(tensors)
            self.table = table_of(tensors) if self.kind == TABLE else self.table
        if targets is not None and self.target_kind not in ("", targets.kind):
            self.usable = False  # two tasks at one line
        elif targets is not None:
            self.target_kind = targets.kind
        return self.usable

    def names_of(self, indices: Array) -> Array:
        """What samples of these indices are called."""
        return scattered(indices.astype(np.uint64) + (np.uint64((self.loader or 0) + 1) << np.uint64(40)))

    def note(self, indices: Array, values: Array) -> None:
        inside = indices < MOST_INDICES
        top = int(indices[inside].max()) + 1 if inside.any() else 0
        if top > len(self.by_index):
            more = np.full(min(max(top, 2 * len(self.by_index), 1024), MOST_INDICES), np.nan, np.float32)
            more[: len(self.by_index)] = self.by_index
            self.by_index = more
        self.by_index[indices[inside]] = values[inside]

    def _meet(self, targets: Targets, rows: Array, places: Array, keys: Array) -> None:
        """Samples that are here already come again."""
        held, given = self.held.beside, targets.values[rows]
        before = held["target"][places]
        known = np.isfinite(before)
        same = known & (keys == held["key"][places])
        self.again += int(same.sum())
        self.changed += int((same & (before != given)).sum())
        held["target"][places[~known]] = given[~known]

    def _add(self, tensors: list[torch.Tensor], targets: Targets | None, rows: Array, names: Array, keys: Array | None, indices: Array | None) -> None:
        numbers = numbers_of(tensors, rows)
        fine = np.isfinite(numbers).all(1)
        rows, numbers = rows[fine], numbers[fine]
        if not len(rows):
            return
        self.held.add(
            names[rows],
            numbers,
            key=keys[rows] if keys is not None else _keys_of(tensors, rows),
            target=targets.values[rows] if targets is not None else np.full(len(rows), np.nan),
            index=indices[rows] if indices is not None else np.full(len(rows), -1),
        )


def _keys_of(tensors: list[torch.Tensor], rows: Array) -> Array:
    """Keys of some rows: of a few of many, these are copied first; else all are made, from a part of each row."""
    if 4 * len(rows) > len(tensors[0]):
        return np.asarray(keys_of(tensors)[rows])
    chosen = torch.from_numpy(rows)
    return keys_of([x[chosen.to(x.device)] for x in tensors])
