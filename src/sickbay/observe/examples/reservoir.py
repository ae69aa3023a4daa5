"""A bounded sample of distinct samples, chosen by their own scattered keys: which ones are kept is no function of their order.

A sample is kept if its key is below a limit. Whenever there are too many, the limit is halved, so that a stream of any length costs the same room, each
sample has the same chance, and one that comes again finds its own place (Gibbons 2001, distinct sampling).
"""

from __future__ import annotations

import numpy as np

from sickbay.observe.numbers import Array
from sickbay.observe.scratch import cleared

CAPACITY = 3000
"""All of a small data set; with WIDTH numbers each, 3 MB. A probe on so many rows takes about a second."""


class Reservoir:
    """Rows of numbers by key, with a few columns beside them."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.capacity = capacity
        self.limit = np.uint64(2**64 - 1)
        self.places: dict[int, int] = {}
        self.keys: Array = np.zeros(0, np.uint64)
        self.numbers: Array = np.zeros((0, 0), np.float32)
        self.beside: dict[str, Array] = {}
        self.count = 0

    def __len__(self) -> int:
        return self.count

    def choose(self, keys: Array) -> tuple[Array, Array]:
        """Which of these rows belong here, and where each of them is (-1: not yet)."""
        rows = np.flatnonzero(keys <= self.limit)
        get = self.places.get
        return rows, np.array([get(k, -1) for k in keys[rows].tolist()], np.int64)

    def add(self, keys: Array, numbers: Array, **beside: Array) -> Array:
        """New rows; returns their places, of which some may be gone again (-1) when there is no room for all."""
        keys, first = np.unique(keys, return_index=True)
        numbers, beside = numbers[first], {name: values[first] for name, values in beside.items()}
        if self.count and numbers.shape[1] != self.numbers.shape[1]:
            return np.full(0, -1)
        self._make_room(self.count + len(keys), numbers.shape[1], beside)
        span = slice(self.count, self.count + len(keys))
        self.keys[span], self.numbers[span] = keys, numbers
        for name, values in beside.items():
            self.beside[name][span] = values
        self.places.update(zip(keys.tolist(), range(span.start, span.stop), strict=True))
        self.count = span.stop
        if self.count > self.capacity:
            self._lower_limit()
        return np.array([self.places.get(k, -1) for k in keys.tolist()], np.int64)

    def _make_room(self, rows: int, width: int, beside: dict[str, Array]) -> None:
        if rows <= len(self.keys) and width == self.numbers.shape[1]:
            return
        size = max(rows, min(2 * len(self.keys), self.capacity), 64)
        if not self.count:
            self.numbers = np.zeros((0, width), np.float32)
        self.keys = _grown(self.keys, size)
        self.numbers = _grown(self.numbers.reshape(len(self.numbers), width), size)
        for name, values in beside.items():
            self.beside[name] = _grown(self.beside.get(name, np.zeros(0, values.dtype)), size)

    def _lower_limit(self) -> None:
        held = self.keys[: self.count]
        while np.count_nonzero(held <= self.limit) > self.capacity:
            self.limit >>= np.uint64(1)
        kept = np.flatnonzero(held <= self.limit)
        self.count = len(kept)
        self.keys, self.numbers = self.keys[kept], self.numbers[kept]
        self.beside = {name: values[kept] for name, values in self.beside.items()}
        self.places = dict(zip(self.keys.tolist(), range(self.count), strict=True))

    def column(self, name: str) -> Array:
        return self.beside[name][: self.count]

    def rows(self) -> Array:
        return self.numbers[: self.count]


def _grown(values: Array, size: int) -> Array:
    more = cleared((size, *values.shape[1:]), values.dtype)
    more[: len(values)] = values
    return more
