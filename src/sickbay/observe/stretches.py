"""Windows that overlap: an evaluated one whose numbers stand, verbatim but at other places, in windows that the model was trained on.

A stretch is STEPS steps in a row, of all channels, known by a hash. Which stretches are kept is a function of their numbers alone, so that two windows keep the same ones wherever they
begin (content-defined chunks; Manber 1994). Of an evaluated window that lies between two of training's, the stretches stand further back in one and further ahead in the other. Windows
behind the last one of training only know the former: what comes after a series, also when it is learned from as it comes, is never found on both sides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch

from sickbay import facts
from sickbay.observe.keys import scattered
from sickbay.observe.numbers import Array

STEPS = 8
CHANGES = 6
"""Between its steps, at least: silence, padding and steps of a staircase recur anywhere."""
SHORTEST, LONGEST = 3 * STEPS, 512
"""Steps of a window; of longer ones, the first."""
CHANNELS = 4
AT_ONCE = 2**15
"""Numbers of a batch that are looked at: a few tenths of a millisecond."""
OF_A_WINDOW = 24
"""Stretches kept, about."""
MOST_WINDOWS, MOST_SHOWN, MOST = 20_000, 512, 2**18
"""Windows of training and of an evaluation, and stretches of training's (4 MB)."""
ENOUGH_TO_TELL = 1024
"""Windows of training after which one stretch has stood at two places, if they overlap: each lies within reach of about ten others, so that even of a hundred thousand a few dozen meet."""
FEWEST = 4
"""Stretches of an evaluated window, for a share of them to say something."""
COVERED = 0.75
"""Share of a window's stretches that are known: of windows that overlap by half, those across the border of the other two are not."""
FEWEST_WINDOWS = 50
_FACTORS = np.random.default_rng(20261119).integers(1, 2**63, max(STEPS, CHANNELS), dtype=np.uint64) | np.uint64(1)
_PLACE, _BATCH = np.uint64(48), np.uint64(32)
Found = tuple[Array, Array, Array]
"""Rows, stretches and where these begin (along the second axis: LONGEST more)."""


class Stretches:
    """Of the windows that one model was trained on."""

    def __init__(self) -> None:
        self.on = True
        self.met = False
        self.limit = np.uint64(2**64 - 1)
        self.known: set[int] = set()
        """Windows by their keys."""
        self.stretches: list[Array] = []
        self.marks: list[Array] = []
        """Where each began, in which batch, and in which window."""
        self.batches = 0
        self.held = 0
        self.sorted = True

    def add(self, x: torch.Tensor, keys: Array) -> None:
        if not self.on or len(self.known) >= MOST_WINDOWS:
            return
        rows = [i for i, key in enumerate(keys.tolist()) if key not in self.known]
        if not rows:
            return
        found = stretches_of(x, rows)
        if found is None:
            self.on = bool(self.known)
            return
        at, hashes, places = found
        self.known.update(keys[rows[: at_once(x)]].tolist())
        self.stretches.append(hashes)
        self.marks.append(places.astype(np.uint64) << _PLACE | np.uint64(min(self.batches, 0xFFFF)) << _BATCH | keys[at] >> _BATCH)
        self.batches += 1
        self.held += len(hashes)
        self.sorted = False
        if self.held > 2 * MOST:
            self._compact()
        if len(self.known) >= ENOUGH_TO_TELL and not self._meet():
            self.on = False
            self.stretches, self.marks = [], []

    def shown(self, x: torch.Tensor, keys: Array, room: int) -> Found | None:
        """Of windows that are evaluated, and none of those that were trained on."""
        rows = [i for i, key in enumerate(keys.tolist()) if key not in self.known] if self.on and self.known else []
        return stretches_of(x, [rows[i] for i in np.linspace(0, len(rows) - 1, min(len(rows), room)).astype(int)], 8 * AT_ONCE) if rows else None

    def _meet(self) -> bool:
        """Some stretch stands in several windows. (Asked once: then they do, or never will.)"""
        if not self.met:
            self._compact()
            self.met = bool((self.stretches[0][1:] == self.stretches[0][:-1]).any())
        return self.met

    def _compact(self) -> None:
        """Sorted, each once, and as many as there is room for: those below a limit, which does not depend on their order."""
        if self.sorted:
            return
        hashes, marks = np.concatenate(self.stretches), np.concatenate(self.marks)
        order = np.lexsort((marks, hashes))
        hashes, marks = hashes[order], marks[order]
        once = np.r_[True, (hashes[1:] != hashes[:-1]) | (marks[1:] != marks[:-1])]
        hashes, marks = hashes[once], marks[once]
        while np.count_nonzero(hashes <= self.limit) > MOST:
            self.limit >>= np.uint64(1)
        room = hashes <= self.limit
        self.stretches, self.marks = [hashes[room]], [marks[room]]
        self.held, self.sorted = int(room.sum()), True

    def compare(self, shown: list[Found], batches: int) -> facts.Overlap | None:
        """What training's windows held of those of an evaluation, after so many batches: what is learned from later was held out then."""
        if not self.on or not shown or not self.stretches:
            return None
        self._compact()
        by_then = (self.marks[0] >> _BATCH & np.uint64(0xFFFF)) < batches
        hashes, places = self.stretches[0][by_then], (self.marks[0][by_then] >> _PLACE).astype(np.int64)
        if not len(hashes):
            return None
        again = (hashes[1:] == hashes[:-1]) & (places[1:] == places[:-1])
        several = hashes[1:] == hashes[:-1]
        if again.sum() > several.sum() / 2:  # windows that begin apart never hold one stretch at one place: this signal repeats itself
            return None
        begins = np.flatnonzero(np.r_[True, ~several])
        repeating = np.unique(hashes[1:][again])
        hashes, first, last = hashes[begins], places[begins], np.maximum.reduceat(places, begins)
        rows = np.concatenate([r + (n << 32) for n, (r, _, _) in enumerate(shown)])
        asked, at = np.concatenate([h for _, h, _ in shown]), np.concatenate([p for _, _, p in shown])
        kept = (asked <= self.limit) & ~np.isin(asked, repeating)
        rows, asked, at = rows[kept], asked[kept], at[kept]
        if not len(asked):
            return None
        where = np.minimum(np.searchsorted(hashes, asked), len(hashes) - 1)
        known = hashes[where] == asked
        back, ahead = known & (first[where] < at), known & (last[where] > at)
        axes = [at // LONGEST == axis for axis in (0, 1)]
        told = [t for a in axes if a.any() and (t := _told(rows[a], back[a], ahead[a])) is not None]
        return max(told, key=lambda t: t.found, default=None)


def _told(rows: Array, back: Array, ahead: Array) -> facts.Overlap | None:
    _, window = np.unique(rows, return_inverse=True)
    of_each = np.bincount(window)
    share = np.bincount(window, weights=back | ahead) / of_each
    both = (np.bincount(window, weights=back) > 0) & (np.bincount(window, weights=ahead) > 0)
    enough = of_each >= FEWEST
    if np.count_nonzero(enough) < FEWEST_WINDOWS:
        return None
    found = enough & both & (share >= COVERED)
    return facts.Overlap(rows=int(enough.sum()), found=int(found.sum()), covered=float(np.median(share[found])) if found.any() else 0.0, steps=STEPS)


def stretches_of(x: torch.Tensor, rows: list[int], most: int = AT_ONCE) -> Found | None:
    """The stretches that are kept of some windows of a batch (as many as may be looked at); None where the batch holds no windows."""
    if not x.is_floating_point() or not x.is_cpu or x.requires_grad:
        return None
    shape = [n for n in x.shape[1:] if n > 1]
    if not 1 <= len(shape) <= 2 or max(shape) < SHORTEST:
        return None
    chosen = rows[: at_once(x, most)]
    found = [f for axis, series in _series(x.detach()[chosen].reshape(len(chosen), *shape)) if (f := _along(series, axis)) is not None]
    if not found:
        return None
    at = np.asarray(chosen)
    return at[np.concatenate([f[0] for f in found])], np.concatenate([f[1] for f in found]), np.concatenate([f[2] for f in found])


def at_once(x: torch.Tensor, most: int = AT_ONCE) -> int:
    """How many windows, by the numbers of each that are looked at."""
    shape = [min(n, LONGEST) for n in x.shape[1:] if n > 1]
    each = sum(n * min(math.prod(shape) // n, CHANNELS) for n in shape if n >= SHORTEST)
    return max(most // max(each, 1), 4)


def _series(x: torch.Tensor) -> Iterator[tuple[int, Array]]:
    """(window, time, channel), by each axis that is long enough to be time."""
    if x.dtype not in (torch.float32, torch.float64):
        x = x.float()
    values = x.numpy()
    if values.ndim == 2:
        yield 0, values[:, :LONGEST, None]
        return
    for axis, series in enumerate((values, values.transpose(0, 2, 1))):
        if series.shape[1] >= SHORTEST:
            yield axis, series[:, :LONGEST, :: -(-series.shape[2] // CHANNELS)]


def _along(values: Array, axis: int) -> Found | None:
    if (values == np.round(values)).all():  # tokens, pixels and one-hot rows recur
        return None
    unsigned = np.ascontiguousarray(values).view(np.uint32 if values.dtype == np.float32 else np.uint64).astype(np.uint64)
    with np.errstate(over="ignore"):
        steps = scattered(np.einsum("itc,c->it", unsigned, _FACTORS[: unsigned.shape[2]]) + np.uint64(axis))
        count = steps.shape[1] - STEPS + 1
        hashes = steps[:, :count] * _FACTORS[0]
        for j in range(1, STEPS):
            hashes += steps[:, j : j + count] * _FACTORS[j]
    hashes = scattered(hashes)
    changes = np.cumsum(np.pad(steps[:, 1:] != steps[:, :-1], ((0, 0), (1, 0))), axis=1)
    moving = changes[:, STEPS - 1 :] - changes[:, :count] >= CHANGES
    rows, places = np.nonzero(moving & (hashes % np.uint64(max(count // OF_A_WINDOW, 1)) == 0))
    return _once(rows, hashes[rows, places], places + axis * LONGEST)


def _once(rows: Array, hashes: Array, places: Array) -> Found:
    """Without what stands in one window twice: it swings."""
    order = np.lexsort((hashes, rows))
    rows, hashes, places = rows[order], hashes[order], places[order]
    same = (rows[1:] == rows[:-1]) & (hashes[1:] == hashes[:-1])
    alone = np.ones(len(rows), bool)
    alone[1:] &= ~same
    alone[:-1] &= ~same
    return rows[alone], hashes[alone], places[alone]
