"""What is kept of one pass over a loader. Batches wait until there are some thousand samples and are then looked at together, which costs little more than one of them."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch

from sickbay.exams.scan.asked import WAIT_BYTES, Asked, examples
from sickbay.exams.scan.labels import LabelBook, numbers_of
from sickbay.exams.scan.parts import Parts, one_each, parts_of, size_of, target_of
from sickbay.exams.scan.plain import WORDS, as_it_is, joined, readable, sample_shape, whole
from sickbay.exams.scan.sketch import Sketch
from sickbay.exams.scan.tensors import TensorBook
from sickbay.exams.scan.visit import Visit
from sickbay.observe.examples.rows import MOST_TENSORS
from sickbay.observe.examples.targets import Targets
from sickbay.observe.features import Features
from sickbay.observe.keys import scattered, some_columns
from sickbay.observe.numbers import Array
from sickbay.observe.words import Words

SMALL = 1 << 16
"""Bytes up to which tensors are put together before they are looked at; larger ones are looked at one by one."""
LARGE_BYTES = 1 << 23
"""Of these, so many wait for each other all the same: between two batches, with code that is not in the processor's caches, a look costs three times as much."""
WAIT_ROWS = 8192
"""What waits at most, and WAIT_BYTES. Each look at all that waits costs about a millisecond beside what it costs by the row (`bench.scan`: texts of 128 ids in batches of 32 took 55 % more
than plain iteration with half a megabyte, 40 % with one, 33 % with two, 25 % with four and with eight)."""
CLOSELY, MEASURED = 4096, 8
"""After the first rows, features are measured (mean and spread of each) on one part in so many,"""
MOST_MEASURED = 1024
"""...by at most so many rows of it, evenly spread (of the first ones, CLOSELY)."""
WATCHED = 8
"""Batches that are copied, to see whether the loader fills the same memory again and again. Then all must be; else they may wait as they are."""


class Waiting(NamedTuple):
    """A batch that is not looked at yet."""

    number: int
    size: int
    values: Any
    indices: Any


class LoaderBook:
    """Everything that one pass showed, in bounded room."""

    def __init__(self, samples: int | None = None, fresh: bool = False, workers: bool = False) -> None:
        self.copies = not fresh
        """Small tensors are copied before they wait: their memory may be filled anew, or belongs to what is shared with workers,"""
        self.lasting = fresh or workers
        """...large ones wait as they are, or not at all."""
        self.watched: list[Any] = []
        self.tensors: dict[str, TensorBook] = {}
        self.others: dict[str, tuple[str, str]] = {}
        """Parts that are no tensors: their kind and type."""
        self.names: tuple[str, ...] = ()
        self.inputs: tuple[str, ...] = ()
        """The parts that make a sample what it is,"""
        self.target = ""
        """...and the one that says what it should be answered with."""
        self.labels: LabelBook | None = None
        self.batches = self.rows = self.changed = self.last = self.flushed = self.flushes = 0
        self.sizes: Counter[int] = Counter()
        self.remade = 0
        self.indexed: bool | None = None
        self.seen, self.drawn = Sketch(), Sketch()
        """Samples by their numbers, and by their index."""
        self.asked = Asked(samples)
        self.features, self.words = Features(), Words()
        self.whole_numbers = True
        self.shape: tuple[int, ...] = ()
        self.waiting: list[Waiting] = []
        self.below: dict[str, torch.Tensor] = {}
        """Where what waits is put together,"""
        self.layout: list[Any] = []
        """Name, shape of a sample, type and size of each tensor that waits,"""
        self.alike: Any = None
        """...and what a batch must be to wait without a closer look: its type, keys, shapes and types."""
        self.large: frozenset[str] = frozenset()
        """Those that are looked at at once,"""
        self.limit = 1
        """...and how many batches wait at most."""

    def take(self, visit: Visit) -> None:
        self.batches += 1
        values = self._like_before(visit.batch)
        if values is None:
            self._open(visit)
            return
        self.rows += self.last
        self._wait(visit, values)

    def _wait(self, visit: Visit, values: Any) -> None:
        watching = self.batches <= WATCHED
        if self.copies or watching:
            values = self._copied(values, watching)
        self.waiting.append(Waiting(visit.number, self.last, values, visit.indices))
        if len(self.waiting) >= self.limit or (self.large and (watching or not self.lasting)):
            self.flush()

    def _like_before(self, batch: Any) -> Any:
        """The tensors of a batch that is built just like the last one; None if it isn't."""
        if self.alike is None or type(batch) is not self.alike[0]:
            return None
        _, keys, shapes = self.alike
        values = batch if keys is None else list(batch.values()) if batch.keys() == keys else ()
        if len(values) != len(shapes):
            return None
        for x, (shape, dtype) in zip(values, shapes, strict=True):
            if type(x) is not torch.Tensor or x.shape != shape or x.dtype is not dtype:
                return None
        return values

    def _copied(self, values: Any, watching: bool) -> list[torch.Tensor]:
        """Small tensors as copies. The first batches are held, so that no other can be given the same memory, unless the loader fills it itself."""
        if watching and (self.lasting or not self.copies) and sum(x.nbytes for x in values) <= LARGE_BYTES // 2:
            self.watched.append(values)
            places = [x.data_ptr() for held in self.watched for x in held]
            if len(set(places)) < len(places):
                self.copies, self.lasting = True, False
        if self.batches >= WATCHED or not self.lasting:
            self.watched = []
        return [x.clone() if x.nbytes <= SMALL else x for x in values]

    # -- a batch of a new kind ----------------------------------------------------------------------------------

    def _open(self, visit: Visit) -> None:
        parts = parts_of(visit.batch)
        size = size_of(parts)
        names = tuple(name for name, _ in parts)
        if not self.names:
            self._begin(parts, names, size)
        self.changed += names != self.names
        self.last = size
        self.rows += size
        plain = [(name, value if as_it_is(value) else readable(value), value) for name, value in parts]
        for name, x, value in plain:
            if x is None:
                self._other(name, value)
            elif not x.dim() or len(x) != size:
                self._book(name).meet(x, 1, 1)
        rows = {name: x for name, x, _ in plain if x is not None and x.dim() and len(x) == size}
        rooms = {name: x.numel() * x.element_size() for name, x in rows.items()}
        layout = [(name, sample_shape(x), x.dtype, rooms[name] <= SMALL) for name, x in rows.items()]
        if layout != self.layout:  # what waits has other shapes, and has to go first
            self.flush()
            self.layout = layout
        self.large = frozenset(name for name, room in rooms.items() if room > SMALL)
        if self.large and not len(self.asked.examples.held):
            self.asked.examples = examples(None)  # of these, whole batches are taken, one in some
        few = WAIT_BYTES // max(sum(r for r in rooms.values() if r <= SMALL), 1)
        self.limit = max(1, min(WAIT_ROWS // max(size, 1), few, LARGE_BYTES // max(sum(r for r in rooms.values() if r > SMALL), 1)))
        self._remember(visit.batch, plain, len(rows))
        self._wait(visit, list(rows.values()))

    def _begin(self, parts: Parts, names: tuple[str, ...], size: int) -> None:
        self.names = names
        self.target = target_of(parts, size)
        rows = {name: x for name, x in parts if isinstance(x, torch.Tensor) and x.dim() and len(x) == size and not x.is_complex()}
        self.inputs = tuple(name for name in rows if name != self.target)[:MOST_TENSORS]
        if self.target and one_each(rows[self.target]):
            self.labels = LabelBook()
        if self.inputs:
            self.shape = tuple(rows[self.inputs[0]].shape[1:])

    def _remember(self, batch: Any, plain: list[tuple[str, Any, Any]], rows: int) -> None:
        simple = len(plain) == rows and all(x is value for _, x, value in plain) and self.names == tuple(name for name, _, _ in plain)
        keys = batch.keys() if type(batch) is dict else None
        flat = type(batch) in (tuple, list) and len(batch) == rows
        fitting = simple and (flat or (keys is not None and len(keys) == rows and all(isinstance(k, str) for k in keys)))
        self.alike = (type(batch), keys, [(x.shape, x.dtype) for _, x, _ in plain]) if fitting else None

    # -- what waits ---------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Look at all that waits."""
        kept, self.waiting = [w for w in self.waiting if w.size], []
        if not kept:
            return
        sizes = [w.size for w in kept]
        total = sum(sizes)
        self.sizes.update(sizes)
        batches = np.repeat([w.number for w in kept], sizes)
        indices = whole(chain.from_iterable(w.indices if isinstance(w.indices, (list, tuple)) else [w.indices] for w in kept), total)
        self.indexed = self.asked.indexed = self.indexed is not False and indices is not None
        merged: dict[str, torch.Tensor] = {}
        prints: dict[str, Array] = {}
        for i, (name, shape, _, small) in enumerate(self.layout):
            held = [w.values[i] for w in kept]
            self._meet(name, held, shape, sizes)
            if small:
                merged[name] = self._together(name, held, shape)
                prints[name] = self._book(name).look(merged[name].numpy(), batches, indices, small=True)
            else:
                prints[name] = self._book(name).look_each(held, batches, indices)
        target = merged.get(self.target)
        told = self.labels.add(numbers_of(target), sizes) if self.labels is not None and target is not None else None
        numbers = indices if indices is not None else np.arange(self.flushed, self.flushed + total)
        self.flushed += total
        self._count([prints[n] for n in self.inputs if n in prints], numbers, indices)
        if self.inputs and all(name in merged for name in self.inputs):
            inputs = [merged[name] for name in self.inputs]
            self.flushes += 1
            if self._closely(self.flushes):
                most = CLOSELY if self.features.rows < CLOSELY else MOST_MEASURED
                self._measure(some_columns(inputs[0][:: -(-total // most)]))
            self.asked.compare(inputs[0], numbers)
            self.asked.choose(inputs, told, indices)
        elif self.inputs:
            self._large(kept, told, numbers, indices)

    def _together(self, name: str, held: list[torch.Tensor], shape: Any) -> torch.Tensor:
        """The rows of some batches below each other, in memory that is used again. They last until the next look."""
        if shape == WORDS and len({x.shape[1] for x in held}) > 1:
            return joined(held)
        rows, first = sum(len(x) for x in held), held[0]
        below = self.below.get(name)
        if below is None or below.dtype != first.dtype or below.shape[1:] != first.shape[1:] or len(below) < rows:
            below = self.below[name] = first.new_empty((rows, *first.shape[1:]))
        return torch.cat(held, out=below[:rows])

    def _large(self, kept: list[Waiting], told: Targets | None, numbers: Array, indices: Array | None) -> None:
        """Of batches with large tensors, a few are asked more."""
        places = [i for i, (name, *_) in enumerate(self.layout) if name in self.inputs]
        at = 0
        for w in kept:
            part = slice(at, at + w.size)
            at = part.stop
            self.flushes += 1
            inputs = [w.values[i] for i in places]
            if self._closely(self.flushes):
                self._measure(some_columns(inputs[0]))
            self.asked.compare(inputs[0], numbers[part])
            targets = told.part(part) if told is not None else None
            self.asked.choose_batch(self.flushes, self.flushed, inputs, targets, indices[part] if indices is not None else None)

    def _closely(self, looks: int) -> bool:
        """Whether features are measured this time."""
        return not self.features.full and (self.features.rows < CLOSELY or looks % MEASURED == 0)

    def _meet(self, name: str, held: list[torch.Tensor], shape: Any, sizes: list[int]) -> None:
        """Types and shapes of the batches that waited."""
        if shape == WORDS and any(x.shape[1] != held[0].shape[1] for x in held):
            for x, size in zip(held, sizes, strict=True):
                self._book(name).meet(x, 1, size)
        else:
            self._book(name).meet(held[0], len(held), sum(sizes))

    def _count(self, prints: list[Array], numbers: Array, indices: Array | None) -> None:
        """Rows by the keys of all their parts."""
        if not prints:
            return
        keys = scattered(prints[0])
        with np.errstate(over="ignore"):
            for i, more in enumerate(prints[1:], start=1):
                keys += scattered(more + np.uint64(i))
        self.seen.add(keys, numbers)
        if indices is not None:
            self.drawn.add(scattered(indices), indices)

    def _measure(self, columns: Array) -> None:
        if columns.dtype.kind in "fiu":
            self.whole_numbers = self.whole_numbers and (columns.dtype.kind != "f" or bool((columns == np.round(columns)).all()))
            self.features.add(columns)
            self.words.add(columns)

    def again(self, batch: Any, indices: Any) -> None:
        """Samples that an earlier scan has counted already: only what it could not keep on disk is made of them anew."""
        parts = parts_of(batch)
        size = size_of(parts)
        plain = {name: x for name, x in ((n, readable(value)) for n, value in parts) if x is not None and x.dim() and len(x) == size}
        inputs = [plain[name] for name in self.inputs if name in plain]
        if not inputs or len(inputs) < len(self.inputs):
            return
        numbers = whole(indices, size) if self.indexed else None
        called = numbers if numbers is not None else np.arange(self.remade, self.remade + size)
        self.remade += size
        self.asked.compare(inputs[0], called)
        if self.labels is not None and self.target in plain:
            self.asked.choose(inputs, self.labels.targets(numbers_of(plain[self.target])), numbers)

    # -- other parts --------------------------------------------------------------------------------------------

    def _book(self, name: str) -> TensorBook:
        book = self.tensors.get(name)
        if book is None:
            book = self.tensors[name] = TensorBook(name)
        return book

    def _other(self, name: str, value: Any) -> None:
        """A part that is no plain tensor: a list of tensors of different sizes, texts, objects."""
        inner = value[0] if isinstance(value, (list, tuple)) and value else value
        kind = "text" if isinstance(inner, (str, bytes)) else "ragged" if isinstance(inner, torch.Tensor) and inner is not value else "object"
        if name not in self.others:
            self.others[name] = kind, f"list of {type(inner).__name__}" if inner is not value else type(value).__name__
        if kind == "ragged":
            book = self._book(name)
            book.kind = "ragged"
            for row, x in enumerate(value):
                if (plain := readable(x)) is not None and plain.is_floating_point() and plain.numel():
                    book.rows += 1
                    book.look(plain.reshape(1, -1).numpy(), np.array([self.batches - 1]), None, small=False, first=row)
