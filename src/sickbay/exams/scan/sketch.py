"""Rows by their key, in bounded room: all of a small data set, of a large one those whose key lies below a limit.

Which rows are kept depends on their key alone, so that two sketches can be compared: a row that both loaders give is in both or in neither (Gibbons 2001, distinct sampling).
"""

from __future__ import annotations

import numpy as np

from sickbay.observe.numbers import Array

CAPACITY = 200_000
"""Rows: 16 bytes each, and twice that while they are sorted out."""


class Sketch:
    """Keys with a number beside each (its index, or its place in the stream)."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.capacity = capacity
        self.limit = np.uint64(2**64 - 1)
        self.keys: Array = np.zeros(0, np.uint64)
        self.numbers: Array = np.zeros(0, np.int64)
        self.waiting: list[tuple[Array, Array]] = []
        self.room = 0

    def add(self, keys: Array, numbers: Array) -> None:
        """Keys must be scattered over all 64-bit numbers."""
        if self.limit != np.uint64(2**64 - 1):
            chosen = keys <= self.limit
            keys, numbers = keys[chosen], numbers[chosen]
        self.waiting.append((keys, numbers))
        self.room += len(keys)
        if self.room > self.capacity:
            self.settle()

    def settle(self) -> None:
        self.keys = np.concatenate([self.keys, *(k for k, _ in self.waiting)])
        self.numbers = np.concatenate([self.numbers, *(n for _, n in self.waiting)])
        self.waiting, self.room = [], 0
        while len(self.keys) > self.capacity:
            self.limit >>= np.uint64(1)
            chosen = self.keys <= self.limit
            self.keys, self.numbers = self.keys[chosen], self.numbers[chosen]

    @property
    def part(self) -> float:
        """The share of all rows that is kept."""
        return (int(self.limit) + 1) / 2**64

    def repeats(self) -> tuple[int, int]:
        """Rows that came again under the same number, and rows equal to one of another number."""
        self.settle()
        ordered = np.sort(self.keys)
        if not (ordered[1:] == ordered[:-1]).any():  # as of most data; sorting the numbers too is ten times as dear
            return 0, 0
        order = np.lexsort((self.numbers, self.keys))
        keys, numbers = self.keys[order], self.numbers[order]
        equal = keys[1:] == keys[:-1]
        again = equal & (numbers[1:] == numbers[:-1])
        return int(again.sum()), int((equal & ~again).sum())

    def shared(self, other: Sketch) -> tuple[Array, Array, int]:
        """Of this sketch, the numbers of the rows that the other has too, the other's numbers of them, and of how many rows that is."""
        self.settle()
        other.settle()
        limit = min(self.limit, other.limit)
        mine = self.keys <= limit
        keys, numbers = self.keys[mine], self.numbers[mine]
        known, first = np.unique(other.keys[other.keys <= limit], return_index=True)
        if not len(known):
            return np.zeros(0, np.int64), np.zeros(0, np.int64), len(keys)
        at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        hit = known[at] == keys
        return numbers[hit], other.numbers[other.keys <= limit][first][at[hit]], len(keys)
