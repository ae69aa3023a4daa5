"""What a loader delivers for which indices: samples that are drawn by a generator which each worker has a copy of are the same for other indices.

The same samples for the same indices are ordinary (data that is not shuffled comes so in each epoch). The same samples for other indices are not: then the index does not say what is made.
"""

from __future__ import annotations

from collections import Counter
from numbers import Integral
from typing import Any

from sickbay import facts
from sickbay.observe.keys import whole_row_keys
from sickbay.observe.rank_rows import readable, tensors_in

BATCHES = 256
ROWS = 16
"""Of each batch: that so many samples are equal, number for number, is no chance."""
MOSTLY = 0.8
FEWEST = 4
"""Different batches: fewer are made of few possible samples, or of none (a data set of zeros that measures speed)."""


class Deliveries:
    """The first batches of one loader, by the first samples of each."""

    def __init__(self) -> None:
        self.marks: list[int] = []
        self.indices: list[tuple[int, ...]] = []
        """...and what they were asked for by; nothing of a stream."""
        self.starts: set[int] = set()
        """Batches with which an epoch began."""
        self.alike: list[bool] = []
        """Whether it held the samples of the batch before, though none of its indices was among those,"""
        self.before: frozenset[int] = frozenset()
        """...which were these."""

    @property
    def full(self) -> bool:
        return len(self.marks) >= BATCHES

    def begin(self) -> None:
        self.starts.add(len(self.marks))

    def add(self, batch: Any, indices: Any) -> None:
        x = next((t for t in tensors_in(batch) if t.dim() >= 2), None)
        if not isinstance(indices, (list, tuple)) or not indices or not readable(x) or len(x) > len(indices):
            return
        if not all(isinstance(i, Integral) for i in indices):
            if any(i is not None for i in indices):  # a stream is asked for nothing
                return
            indices = ()
        mark, these = hash(whole_row_keys(x[:ROWS]).tobytes()), frozenset(indices)
        self.alike.append(self.marks[-1:] == [mark] and not these & self.before)
        self.marks.append(mark)
        self.indices.append(tuple(indices[:ROWS]))
        self.before = these

    def fact(self) -> facts.Deliveries | None:
        if len(self.marks) < 2 * FEWEST:
            return None
        period = self._period()
        return facts.Deliveries(
            seen=len(self.marks),
            distinct=len(set(self.marks)),
            alike=sum(self.alike),
            run=self._run(),
            period=period,
            moved=sum(map(_moved, self.indices, self.indices[period:])) if period else 0,
        )

    def _run(self) -> int:
        """How many batches in a row are the same, where nearly all rows of them are as long. (Those at the end of an epoch may be cut short.)"""
        lengths, count = [], 1
        for n, same in enumerate(self.alike[1:], start=1):
            if n in self.starts:
                count = 0
            elif not same:
                lengths.append(count)
                count = 0
            count += 1
        if len(lengths) < FEWEST:
            return 0
        length, times = Counter(lengths).most_common(1)[0]
        return length if times >= MOSTLY * len(lengths) else 0

    def _period(self) -> int:
        """After how many batches, whole epochs, all of them come again in the same order, as far as was looked: at least half as many."""
        for period in sorted(n for n in self.starts if 0 < n < len(self.marks)):
            again = self.marks[period:]
            if len(again) >= max(FEWEST, period // 2) and again == self.marks[: len(again)] and len(set(self.marks[:period])) >= FEWEST:
                return period
        return 0


def _moved(now: tuple[int, ...], later: tuple[int, ...]) -> bool:
    """Most of the samples were asked for by other indices."""
    return bool(now) and sum(a != b for a, b in zip(now, later, strict=False)) >= MOSTLY * min(len(now), len(later))
