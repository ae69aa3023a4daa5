"""Which rows a rank trains on, so that ranks can be compared after the run: by keys (see keys.py), nothing of the rows themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeGuard

import numpy as np
import torch

from sickbay import facts
from sickbay.nouns import Place
from sickbay.observe.keys import scattered, whole_row_keys
from sickbay.observe.numbers import Array, distinct

BATCHES = 64
"""First batches of which a few rows are kept: ranks that are given the same data are given it from the start."""
ROWS = 8
SKETCH = 256
"""Keys of the first epoch that are kept, the smallest: the same ones on every rank that sees those rows."""
SKETCHED_BATCHES = 512
BITS = np.uint64(16)
"""Fewer bits, so that JSON readers keep them whole: 48 are enough for a hundred million rows."""
PASSES = 16


class RankRows:
    """Keys of the rows of training's batches, in order."""

    def __init__(self) -> None:
        self.batches: list[tuple[int, ...]] = []
        self.sketch: Array = np.empty(0, np.uint64)
        self.seen = 0
        self.looked = 0

    def full(self, epoch: int) -> bool:
        return len(self.batches) >= BATCHES and (epoch > 0 or self.looked >= SKETCHED_BATCHES)

    def add(self, keys: Array, epoch: int) -> None:
        if len(self.batches) < BATCHES:
            some = np.linspace(0, len(keys) - 1, min(len(keys), ROWS)).astype(np.intp)
            self.batches.append(tuple(int(k) for k in keys[some]))
        self.looked += 1
        if epoch <= 0 and self.looked <= SKETCHED_BATCHES:
            self.seen += len(keys)
            self.sketch = distinct(np.concatenate([self.sketch, keys]))[:SKETCH]


def keys_of(x: torch.Tensor) -> Array:
    """A key for each row, spread evenly over all possible ones."""
    return np.asarray(scattered(whole_row_keys(x)) >> BITS)


def readable(x: torch.Tensor | None) -> TypeGuard[torch.Tensor]:
    """Data (nothing that was computed with gradients) in main memory."""
    return x is not None and x.is_cpu and x.layout == torch.strided and x.dim() >= 1 and x.numel() > 0 and not x.requires_grad


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value[:8]:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        for item in list(value.values())[:8]:
            yield from tensors_in(item)


class Dealer:
    """The DistributedSampler of one loader: what it was set to when each pass began, and the order it gave."""

    def __init__(self, sampler: Any, place: Place | None) -> None:
        self.kind = type(sampler).__name__
        self.place = place
        self.replicas = int(sampler.num_replicas)
        self.rank = int(sampler.rank)
        self.shuffle = bool(getattr(sampler, "shuffle", False))
        self.seed = int(getattr(sampler, "seed", 0) or 0)
        self.epochs: list[int] = []
        self.orders: list[int] = []

    def begins(self, sampler: Any) -> None:
        if len(self.epochs) < PASSES:
            self.epochs.append(int(getattr(sampler, "epoch", 0) or 0))

    def first(self, indices: Any) -> None:
        """The first batch of a pass."""
        if len(self.orders) < len(self.epochs) and isinstance(indices, (list, tuple)) and all(isinstance(i, int) for i in indices):
            self.orders.append(hash(tuple(indices)) & 0xFFFFFFFFFFFF)

    def fact(self) -> facts.ShardSampler:
        return facts.ShardSampler(
            kind=self.kind,
            replicas=self.replicas,
            rank=self.rank,
            shuffle=self.shuffle,
            seed=self.seed,
            epochs=tuple(self.epochs),
            orders=tuple(self.orders) if len(self.orders) == len(self.epochs) else (),
            place=self.place,
        )


def deals_out(sampler: Any) -> bool:
    """Whether a sampler divides its data set among ranks: torch's, or one made like it."""
    return (
        isinstance(getattr(sampler, "num_replicas", None), int) and isinstance(getattr(sampler, "rank", None), int) and hasattr(sampler, "set_epoch")
    )
