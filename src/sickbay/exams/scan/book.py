"""What is kept of one pass over a loader. Small tensors wait and are looked at together, which costs little more than one of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from sickbay.exams.scan.alike import Pictures, Texts
from sickbay.exams.scan.labels import LabelBook, numbers_of
from sickbay.exams.scan.parts import Parts, one_each, parts_of, size_of, target_of
from sickbay.exams.scan.sketch import Sketch
from sickbay.exams.scan.tensors import TensorBook
from sickbay.exams.scan.visit import Visit
from sickbay.observe.examples.book import NEW_ROWS, Book
from sickbay.observe.examples.rows import MOST_TENSORS
from sickbay.observe.examples.targets import Targets
from sickbay.observe.keys import row_keys, scattered, some_columns
from sickbay.observe.numbers import Array
from sickbay.observe.samples import Features
from sickbay.observe.words import Words

SMALL = 1 << 16
"""Bytes up to which a tensor is copied and waits. (A copy, because a loader may fill one buffer again and again.)"""
WAIT_ROWS, WAIT_BYTES = 2048, 1 << 20
EXAMPLES = 3000
"""Samples that the questions about labels are asked of."""
PLAIN = frozenset({torch.float32, torch.int64, torch.float64, torch.uint8, torch.int32, torch.bool})
"""Types that numpy reads as they are."""
EVERY = 8
"""Once so many were offered, examples are taken from one large batch in so many."""


@dataclass(slots=True)
class Waiting:
    """A batch that is not looked at yet: small tensors as copies, of large ones the columns that make a key."""

    number: int
    size: int
    small: dict[str, torch.Tensor]
    columns: dict[str, Array]
    indices: Array | None


class LoaderBook:
    """Everything that one pass showed, in bounded room."""

    def __init__(self, examples: int = EXAMPLES) -> None:
        self.tensors: dict[str, TensorBook] = {}
        self.others: dict[str, tuple[str, str]] = {}
        """Parts that are no tensors: their kind and type."""
        self.names: tuple[str, ...] = ()
        self.inputs: tuple[str, ...] = ()
        """The parts that make a sample what it is,"""
        self.target = ""
        """...and the one that says what it should be answered with."""
        self.labels: LabelBook | None = None
        self.batches = self.rows = self.changed = self.last = self.flushed = 0
        self.sizes: Counter[int] = Counter()
        self.indexed: bool | None = None
        self.seen, self.drawn = Sketch(), Sketch()
        """Samples by their numbers, and by their index."""
        self.examples = Book(examples)
        self.examples.loader = 0
        self.features, self.words = Features(), Words()
        self.whole_numbers = True
        self.shape: tuple[int, ...] = ()
        self.pictures, self.texts = Pictures(), Texts()
        self.waiting: list[Waiting] = []
        self.waiting_rows = self.waiting_bytes = 0
        self.layout: list[Any] = []

    def take(self, visit: Visit) -> None:
        parts = parts_of(visit.batch)
        size = size_of(parts)
        names = tuple(name for name, _ in parts)
        if not self.names:
            self._begin(parts, names, size)
        self.changed += names != self.names
        self.batches += 1
        self.sizes[size] += 1
        self.last = size
        self.rows += size
        indices = visit.indices if visit.indices is not None and len(visit.indices) == size else None
        self.indexed = self.indexed is not False and indices is not None
        self._keep(parts, visit.number, size, indices)

    def _begin(self, parts: Parts, names: tuple[str, ...], size: int) -> None:
        self.names = names
        self.target = target_of(parts, size)
        rows = {name: x for name, x in parts if isinstance(x, torch.Tensor) and x.dim() and len(x) == size and not x.is_complex()}
        self.inputs = tuple(name for name in rows if name != self.target)[:MOST_TENSORS]
        if self.target and one_each(rows[self.target]):
            self.labels = LabelBook()
        if self.inputs:
            self.shape = tuple(rows[self.inputs[0]].shape[1:])

    def _keep(self, parts: Parts, number: int, size: int, indices: Array | None) -> None:
        kept = Waiting(number, size, {}, {}, indices)
        large: dict[str, torch.Tensor] = {}
        layout = []
        for name, value in parts:
            x = value if _as_it_is(value) else _plain(value)
            if x is None:
                self._other(name, value)
                continue
            book = self.tensors.get(name)
            if book is None:
                book = self.tensors[name] = TensorBook(name)
            book.meet(x)
            if not x.dim() or len(x) != size:
                continue
            room = x.numel() * x.element_size()
            layout.append((name, x.shape[1:], x.dtype, room <= SMALL))
            if room <= SMALL:
                kept.small[name] = x.clone()
                self.waiting_bytes += room
            else:
                large[name] = x
        if layout != self.layout:  # what waits has other shapes, and has to go first
            self.flush()
            self.layout = layout
        for name, x in large.items():
            self.tensors[name].look(x.numpy(), np.full(size, number), indices, small=False)
            if name in self.inputs:
                kept.columns[name] = some_columns(x)
        if any(name in large for name in self.inputs):
            self._show(kept, large)
        self.waiting.append(kept)
        self.waiting_rows += size
        if self.waiting_rows >= WAIT_ROWS or self.waiting_bytes >= WAIT_BYTES:
            self.flush()

    def _show(self, kept: Waiting, large: dict[str, torch.Tensor]) -> None:
        """A batch with large inputs, for the questions about examples: those are asked at once, as it does not wait."""
        inputs = [(kept.small | large)[name] for name in self.inputs if name in kept.small or name in large]
        numbers = kept.indices if kept.indices is not None else np.arange(self.rows - kept.size, self.rows)
        self.pictures.add(inputs[0], numbers)
        if self.rows <= EVERY * EXAMPLES or self.batches % EVERY == 0:
            target = kept.small.get(self.target)
            values = numbers_of(target) if target is not None and self.labels is not None else None
            told = self.labels.targets(values) if self.labels is not None and values is not None else None
            self._exemplify(inputs, told, kept.indices)

    def flush(self) -> None:
        """Look at all that waits."""
        kept, self.waiting = [w for w in self.waiting if w.size], []
        self.waiting_rows = self.waiting_bytes = 0
        if not kept:
            return
        sizes = [w.size for w in kept]
        batches = np.repeat([w.number for w in kept], sizes)
        indices = np.concatenate([w.indices for w in kept if w.indices is not None]) if all(w.indices is not None for w in kept) else None
        merged = {name: torch.cat([w.small[name] for w in kept]) for name in kept[0].small}
        for name, x in merged.items():
            self.tensors[name].look(x.numpy(), batches, indices, small=True)
        positions = np.arange(self.flushed, self.flushed + len(batches))
        self.flushed += len(batches)
        values = [numbers_of(w.small[self.target]) for w in kept] if self.labels is not None and self.target in merged else []
        told = self.labels.add(values) if self.labels is not None and values else None
        numbers = indices if indices is not None else positions
        self._count(kept, merged, numbers, indices)
        if self.inputs and all(name in merged for name in self.inputs):
            inputs = [merged[name] for name in self.inputs]
            self.pictures.add(inputs[0], numbers)
            self.texts.add(inputs[0], numbers)
            for at in range(0, len(batches), NEW_ROWS):
                part = slice(at, at + NEW_ROWS)
                self._exemplify(
                    [x[part] for x in inputs], told.part(part) if told is not None else None, indices[part] if indices is not None else None
                )

    def _exemplify(self, inputs: list[torch.Tensor], targets: Targets | None, indices: Array | None) -> None:
        if targets is not None and (self.indexed or not self.examples.indexed):
            self.examples.take(inputs, targets, indices if self.indexed else None)

    def _count(self, kept: list[Waiting], merged: dict[str, torch.Tensor], numbers: Array, indices: Array | None) -> None:
        """Rows by their keys, features by their sums."""
        columns = [
            some_columns(merged[n]) if n in merged else np.concatenate([w.columns[n] for w in kept]) for n in self.inputs if self._has(n, kept)
        ]
        if not columns:
            return
        with np.errstate(over="ignore"):
            keys: Array = np.asarray(np.sum([scattered(row_keys(c) + np.uint64(i)) for i, c in enumerate(columns)], axis=0, dtype=np.uint64))
        self.seen.add(keys, numbers)
        if indices is not None:
            self.drawn.add(scattered(indices), indices)
        if columns[0].dtype.kind in "fiu":
            if self.features.batches < 64:
                self.whole_numbers = self.whole_numbers and bool((columns[0] == np.round(columns[0])).all())
            self.features.add(columns[0])
            self.words.add(columns[0])

    def _has(self, name: str, kept: list[Waiting]) -> bool:
        return all(name in w.small or name in w.columns for w in kept)

    def _other(self, name: str, value: Any) -> None:
        """A part that is no plain tensor: a list of tensors of different sizes, texts, objects."""
        if name in self.others:
            kind = self.others[name][0]
        else:
            kind = (
                "text" if isinstance(value, str) or (isinstance(value, (list, tuple)) and value and isinstance(value[0], (str, bytes))) else "object"
            )
            kind = "ragged" if isinstance(value, (list, tuple)) and value and isinstance(value[0], torch.Tensor) else kind
            inner = value[0] if isinstance(value, (list, tuple)) and value else value
            self.others[name] = kind, f"list of {type(inner).__name__}" if inner is not value else type(value).__name__
        if kind == "ragged":
            self._ragged(name, value)

    def _ragged(self, name: str, value: Any) -> None:
        book = self.tensors.setdefault(name, TensorBook(name))
        book.kind = "ragged"
        for row, x in enumerate(value if isinstance(value, (list, tuple)) else ()):
            if (plain := _plain(x)) is not None and plain.is_floating_point() and plain.numel():
                book.rows += 1
                book.look(plain.reshape(1, -1).numpy(), np.full(row + 1, self.batches - 1)[-1:], None, small=False)


def _as_it_is(value: Any) -> bool:
    return type(value) is torch.Tensor and value.dtype in PLAIN and value.layout is torch.strided and value.is_cpu and not value.requires_grad


def _plain(value: Any) -> torch.Tensor | None:
    """As numpy can read it; None for what is no such tensor (sparse, complex, quantised, or something else)."""
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided or value.is_complex() or value.is_quantized:
        return None
    x = value.detach().cpu().as_subclass(torch.Tensor)
    return x.float() if x.dtype == torch.bfloat16 else x
