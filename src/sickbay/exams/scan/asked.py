"""The samples that questions are asked of when the pass is over: whether labels follow from inputs (examples), and which are nearly the same in both loaders (pictures, texts)."""

from __future__ import annotations

import numpy as np
import torch

from sickbay.exams.scan.alike import Pictures, Texts
from sickbay.observe.examples.book import NEW_ROWS, Book
from sickbay.observe.examples.rows import keys_of
from sickbay.observe.examples.targets import Targets
from sickbay.observe.keys import scattered
from sickbay.observe.numbers import Array

EXAMPLES = 3000
"""Samples that the questions about labels are asked of."""
WAIT_BYTES = 1 << 22
"""Of them that wait to be put into the book of examples together."""


class Asked:
    """They are held in memory while the scan lasts, and never reach the disk."""

    def __init__(self, samples: int | None = None, indexed: bool | None = None) -> None:
        self.stride = max((samples or 0) // EXAMPLES, 1)
        """Of batches with large tensors, one in so many gives examples."""
        self.indexed = indexed
        """Samples are known by their index in the data set."""
        self.kind = ""
        """Of the targets."""
        self.examples = examples(samples)
        self.pictures, self.texts = Pictures(), Texts()
        self.chosen: list[tuple[list[torch.Tensor], Array, Array | None]] = []
        """What waits: inputs, targets, indices;"""
        self.room = 0
        """...and its bytes."""

    def compare(self, x: torch.Tensor, numbers: Array) -> None:
        """For near copies."""
        self.pictures.add(x, numbers)
        self.texts.add(x, numbers)

    def choose(self, inputs: list[torch.Tensor], targets: Targets | None, indices: Array | None) -> None:
        """Offers the book of examples only what it would keep: it knows samples by their index, or else by their key."""
        if targets is None or (not self.indexed and self.examples.indexed):
            return
        if self.indexed and indices is not None:
            self.examples.note(indices, targets.values)
        names = self.examples.names_of(indices) if self.indexed and indices is not None else scattered(keys_of(inputs))
        rows = np.flatnonzero(names <= self.examples.held.limit)
        chosen = torch.from_numpy(rows)
        self._hold([x.index_select(0, chosen) for x in inputs], targets, rows, indices)

    def choose_batch(self, number: int, rows: int, inputs: list[torch.Tensor], targets: Targets | None, indices: Array | None) -> None:
        """Of large tensors, whole batches are taken, one in some; of a stream, the first ones and then fewer and fewer."""
        if targets is not None and (number - 1) % max(self.stride, rows // EXAMPLES) == 0:
            self._hold([x.clone() if x.nbytes < WAIT_BYTES else x for x in inputs], targets, slice(None), indices)

    def _hold(self, inputs: list[torch.Tensor], targets: Targets, rows: Array | slice, indices: Array | None) -> None:
        """These wait until there are some hundred, or a few megabytes."""
        self.kind = targets.kind
        self.chosen.append((inputs, targets.values[rows], indices[rows] if indices is not None else None))
        self.room += sum(x.nbytes for x in inputs)
        if self.room >= WAIT_BYTES or sum(len(y) for _, y, _ in self.chosen) >= NEW_ROWS:
            self.settle()

    def settle(self) -> None:
        """Give the book of examples what was chosen for it: some hundred at once."""
        chosen, self.chosen, self.room = self.chosen, [], 0
        while chosen:
            shapes = [x.shape[1:] for x in chosen[0][0]]
            alike = [part for part in chosen if [x.shape[1:] for x in part[0]] == shapes and (part[2] is None) == (chosen[0][2] is None)]
            chosen = [part for part in chosen if not any(part is taken for taken in alike)]
            inputs = [torch.cat(parts) if len(parts) > 1 else parts[0] for parts in zip(*(xs for xs, _, _ in alike), strict=True)]
            values = np.concatenate([y for _, y, _ in alike])
            indices = np.concatenate([i for _, _, i in alike if i is not None]) if alike[0][2] is not None else None
            for at in range(0, len(values), NEW_ROWS):
                part = slice(at, at + NEW_ROWS)
                self._take([x[part] for x in inputs], Targets(self.kind, values[part]), indices[part] if indices is not None else None)

    def _take(self, inputs: list[torch.Tensor], targets: Targets, indices: Array | None) -> None:
        if self.indexed is not False or not self.examples.indexed:
            self.examples.take(inputs, targets, indices if self.indexed is not False else None)

    def kept(self) -> Array | None:
        """Their indices in the data set; None where the loader tells none."""
        if not self.indexed:
            return None
        held = self.examples.held.column("index") if len(self.examples.held) else np.zeros(0, np.int64)
        return np.unique(np.concatenate([held, *self.pictures.numbers, *self.texts.numbers]).astype(np.int64))


def examples(samples: int | None) -> Book:
    """For the questions about labels; where the number of samples is known, it is offered hardly more than it keeps."""
    book = Book(EXAMPLES)
    book.loader = 0
    if samples is not None and samples > EXAMPLES:
        book.held.limit = np.uint64(int(0.95 * EXAMPLES / samples * 2**64))
    return book
