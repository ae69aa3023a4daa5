"""Samples that are nearly the same, beyond equal numbers: pictures by the pattern of their light and dark, texts by the pieces that they share.

How alike the samples of one data set are by nature, its own halves tell: only what is found between two loaders beyond that is a copy.
"""

from __future__ import annotations

from itertools import chain

import numpy as np
import torch

from sickbay.observe.examples.rows import pooled
from sickbay.observe.keys import scattered
from sickbay.observe.numbers import Array

MOST_PICTURES, MOST_TEXTS = 4096, 4096
ROWS, COLUMNS = 8, 9
"""Of a picture's thumbnail: each of its 64 horizontal neighbours gives one bit, lighter or darker (a difference hash)."""
SMALLEST, LARGEST = 16, 64
"""Sides: smaller pictures have too few patterns, of larger ones every second or further line is enough."""
BITS = 60
"""Of 64 that must agree,"""
ALIKE = 0.98
"""...and the correlation of the thumbnails themselves."""
BLOCK = 512
TOKENS, PIECE, FEWEST = 256, 3, 12
"""Tokens of a text that are looked at, in pieces of three; and how many it must have, because short texts are alike by chance."""
HASHES, BANDS = 32, 16
SHARED = 0.7
"""Part of their pieces that two texts share (Broder 1997, estimated from 32 minima)."""


class Pictures:
    """Thumbnails of the first pictures."""

    def __init__(self) -> None:
        self.thumbnails: list[Array] = []
        self.numbers: list[Array] = []
        self.count = 0

    @property
    def full(self) -> bool:
        return self.count >= MOST_PICTURES

    def add(self, x: torch.Tensor, numbers: Array) -> None:
        if self.full or x.dim() != 4 or (light := _light(x)) is None:
            return
        self.thumbnails.append(pooled(light.float().numpy(), ROWS, COLUMNS).reshape(len(x), -1))
        self.numbers.append(numbers)
        self.count += len(x)

    def signs(self) -> tuple[Array, Array]:
        """The thumbnails of pictures that show something, with mean 0 and length 1; and their numbers."""
        if not self.count:
            return np.zeros((0, ROWS * COLUMNS), np.float32), np.zeros(0, np.int64)
        x, numbers = np.concatenate(self.thumbnails), np.concatenate(self.numbers)
        x = x - x.mean(1, keepdims=True)
        length = np.linalg.norm(x, axis=1)
        shown = np.isfinite(length) & (length > 1e-6)
        return (x[shown] / length[shown, None]).astype(np.float32), numbers[shown]

    @staticmethod
    def nearest(mine: Array, others: Array) -> Array:
        """For each of mine, the place of one of the others that is nearly the same; -1 if there is none."""
        found = np.full(len(mine), -1)
        hashes = _bits(others).T
        for at in range(0, len(mine) if len(others) else 0, BLOCK):
            part = mine[at : at + BLOCK]
            agree = (_bits(part) @ hashes + 64) / 2
            close = np.where(agree >= BITS, part @ others.T, -1.0)
            best = close.argmax(1)
            found[at : at + BLOCK] = np.where(close[np.arange(len(part)), best] >= ALIKE, best, -1)
        return found


def _light(x: torch.Tensor) -> torch.Tensor | None:
    """One channel, channels first or last, at most LARGEST on each side."""
    if x.shape[1] <= 4:
        x = x[:, 1 if x.shape[1] == 3 else 0]
    elif x.shape[3] <= 4:
        x = x[..., 1 if x.shape[3] == 3 else 0]
    else:
        return None
    if min(x.shape[1:]) < SMALLEST:
        return None
    return x[:, :: -(-x.shape[1] // LARGEST), :: -(-x.shape[2] // LARGEST)]


def _bits(thumbnails: Array) -> Array:
    grid = thumbnails.reshape(len(thumbnails), ROWS, COLUMNS)
    return np.where(grid[:, :, 1:] > grid[:, :, :-1], 1.0, -1.0).astype(np.float32).reshape(len(thumbnails), 64)


class Texts:
    """The first texts, as token ids; held in memory while the scan lasts."""

    def __init__(self) -> None:
        self.rows: list[Array] = []
        self.numbers: list[Array] = []
        self.count = 0

    def add(self, x: torch.Tensor, numbers: Array) -> None:
        if self.count >= MOST_TEXTS or x.dim() != 2 or x.shape[1] < FEWEST or x.dtype not in (torch.int64, torch.int32):
            return
        self.rows.append(x[:, :TOKENS].to(torch.int32, copy=True).numpy())
        self.numbers.append(numbers)
        self.count += len(x)

    def signs(self) -> tuple[Array, Array]:
        """For each text that is long enough, the smallest of the numbers of its pieces under each of 32 hash functions."""
        numbers = np.concatenate(self.numbers) if self.numbers else np.zeros(0, np.int64)
        made, kept = [], []
        factors = scattered(np.arange(HASHES)) | np.uint64(1)
        for row, number in zip(chain.from_iterable(self.rows), numbers, strict=True):
            text = _unpadded(row)
            if len(text) >= FEWEST and len(np.unique(text)) >= FEWEST // 2:
                pieces = scattered(_pieces(text))
                with np.errstate(over="ignore"):
                    made.append((pieces[:, None] * factors[None]).min(0))
                kept.append(number)
        return np.array(made, np.uint64).reshape(len(made), HASHES), np.array(kept, np.int64)

    @staticmethod
    def nearest(mine: Array, others: Array) -> Array:
        """As of pictures: candidates share two minima that stand together, and are then compared by all."""
        found, best = np.full(len(mine), -1), np.full(len(mine), SHARED)
        if not len(others) or not len(mine):
            return found
        for band in range(BANDS):
            span = slice(2 * band, 2 * band + 2)
            with np.errstate(over="ignore"):
                known, first = np.unique(scattered(others[:, span]).sum(1, dtype=np.uint64), return_index=True)
                wanted = scattered(mine[:, span]).sum(1, dtype=np.uint64)
            at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
            share = np.where(known[at] == wanted, (mine == others[first[at]]).mean(1), 0.0)
            better = share >= np.maximum(best, SHARED)
            found[better], best[better] = first[at][better], share[better]
        return found


def _unpadded(row: Array) -> Array:
    """Without the run of one id at its end, or at its beginning."""
    change = np.flatnonzero(row != row[-1])
    text = row[: change[-1] + 2] if len(change) else row[:0]
    change = np.flatnonzero(text != text[0]) if len(text) else change
    return text[max(int(change[0]) - 1, 0) :] if len(change) else text[:0]


def _pieces(text: Array) -> Array:
    ids = text.astype(np.uint64)
    with np.errstate(over="ignore"):
        return np.unique(ids[:-2] * np.uint64(0x9E3779B97F4A7C15) + scattered(ids[1:-1]) + scattered(scattered(ids[2:])))
