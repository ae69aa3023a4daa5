"""Does a prediction know its own answer? Where the targets are later inputs, a position is replaced; earlier predictions must not change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

from sickbay.observe.probes.rerun import Compare, Keep, Rerun, Spot, along, change_of, confined

FEWEST = 16
"""Values that must agree before "the target is the input, moved" is no coincidence (for two symbols, one in 65,000)."""
SHORTEST = 4
FURTHEST = 4
"""Steps ahead that are looked for."""
FEATURES = 64
IGNORED = -100
"""What cross_entropy leaves out by default."""
PADDING = 64
"""A causal convolution pads its sequence by this much at most."""


@dataclass(frozen=True)
class Shift:
    """The target at position t is the input at position t + ahead, along `dimension`."""

    dimension: int
    ahead: int
    length: int
    """Of the target."""
    compared: int

    @property
    def rows(self) -> int:
        """The dimension along which the sequences of a batch are counted."""
        return _rows(self.dimension)


@dataclass(frozen=True)
class Leak:
    effect: float
    earlier: int
    spot: Spot | None


Answer = Leak | Literal["causal", "unclear"]


# -- what is predicted ----------------------------------------------------------------------------------------------


def shift_of(x: torch.Tensor, target: torch.Tensor, ignored: int = IGNORED) -> Shift | None:
    """How the target is made from the input, if it is the input itself or its future, to the last bit."""
    if x.is_floating_point() != target.is_floating_point() or x.dim() not in (2, 3) or target.dtype != x.dtype:
        return None
    for dimension in (1, 2, 0) if x.dim() == 3 else (1, 0):  # (batch, time, features), (batch, channels, time), (time, batch, features)
        length = x.shape[dimension]
        columns = _by_column(x, dimension)
        wanted = _like(target, x, dimension)
        if length < SHORTEST or wanted is None:
            continue
        matches = [(k, n) for k in range(FURTHEST + 1) if (n := _matches(columns, wanted, k, ignored)) >= FEWEST]
        if len(matches) == 1 and (matches[0][0] or not x.is_floating_point()):  # constant sequences match every way
            return Shift(dimension, matches[0][0], wanted.shape[1], matches[0][1])
    return None


def _by_column(x: torch.Tensor, dimension: int) -> torch.Tensor:
    """(rows, positions, features)"""
    x = x.movedim(dimension, 1)
    return x.unsqueeze(2) if x.dim() == 2 else x[:, :, :FEATURES]


def _like(target: torch.Tensor, x: torch.Tensor, dimension: int) -> torch.Tensor | None:
    """The first column of the target as (rows, positions), whatever shape it was given to the loss in."""
    rows, length = x.shape[_rows(dimension)], x.shape[dimension]
    if target.dim() == 3 and target.shape[_rows(dimension)] == rows:
        return target.movedim(dimension, 1)[:, :, 0]
    at = min(dimension, 1)
    if target.dim() == 2 and target.shape[1 - at] == rows and length - FURTHEST <= target.shape[at] <= length:
        return target.movedim(at, 1)
    if target.dim() == 1 and target.numel() % rows == 0 and length - FURTHEST <= target.numel() // rows <= length:
        return target.reshape(rows, -1) if dimension else target.reshape(-1, rows).movedim(0, 1)
    return None


def _rows(dimension: int) -> int:
    """Where the sequences of a batch are counted, if their positions are along `dimension`."""
    return 0 if dimension else 1


def _matches(columns: torch.Tensor, wanted: torch.Tensor, ahead: int, ignored: int) -> int:
    length = min(wanted.shape[1], columns.shape[1] - ahead)
    if length < SHORTEST - 1:
        return 0
    now = wanted[:, :length]
    counted = now != ignored if not now.is_floating_point() else torch.ones_like(now, dtype=torch.bool)
    number = int(counted.sum())
    if number < FEWEST or 2 * number < now.numel():
        return 0
    for f in range(columns.shape[2]):
        if bool(((columns[:, ahead : ahead + length, f] == now) | ~counted).all()):
            return number
    return 0


# -- who knows it ---------------------------------------------------------------------------------------------------


def knows_its_answer(rerun: Rerun, index: int, shift: Shift) -> Answer:
    """Replace two positions, one after the other, and look at the predictions that should name them."""
    x = rerun.inputs[index]
    length = x.shape[shift.dimension]
    base = _by_position(rerun.base(), x, shift)
    if base is None:
        return "unclear"
    found: list[tuple[int, torch.Tensor, float, int]] = []
    for s in sorted({length // 2, max(2, 3 * length // 4)}):
        other = _replaced(x, shift.dimension, s)
        after = _by_position(rerun.run(index, other), x, shift) if other is not None else None
        if other is None or after is None or s - shift.ahead < 0:
            return "unclear"
        change = change_of(base, after)
        by_position = change.movedim(1, 0).reshape(change.shape[1], -1).amax(dim=1)
        if float(by_position.max()) == 0:
            return "unclear"
        own, earlier = float(by_position[s - shift.ahead]), int((by_position[:s] > 0).sum())
        if own == 0 or (shift.ahead == 0 and not _copies(by_position, s)):
            return "causal"
        if not rerun.steady():
            return "unclear"
        found.append((s, other, own / float(by_position.max()), earlier))
    s, other, effect, earlier = found[0]
    return Leak(effect, earlier, _where(rerun, index, other, length, s) if shift.ahead else None)


def _copies(by_position: torch.Tensor, s: int) -> bool:
    """A model that reads in order, sees the very value that it is asked for, and uses what it read: not an autoencoder."""
    return not bool((by_position[:s] > 0).any()) and bool((by_position[s + 1 :] > 0).any())


def _by_position(found: torch.Tensor | None, x: torch.Tensor, shift: Shift) -> torch.Tensor | None:
    """A prediction for input x as (rows, positions, scores)."""
    rows, length = x.shape[shift.rows], x.shape[shift.dimension]
    if found is None:
        return None
    for positions in (length, shift.length):
        if found.dim() >= 3 and (found.shape[shift.rows], found.shape[shift.dimension]) == (rows, positions):
            return found.movedim(shift.dimension, 1).flatten(2)
        if found.dim() == 3 and shift.dimension and (found.shape[0], found.shape[3 - shift.dimension]) == (rows, positions):
            return found.movedim(3 - shift.dimension, 1)  # (batch, classes, positions), as cross_entropy wants it
        if found.dim() == 2 and found.shape[0] == rows * positions:
            return found.reshape(rows, positions, -1) if shift.dimension else found.reshape(positions, rows, -1).movedim(0, 1)
        if found.dim() == 2 and found.shape == (rows, positions) and shift.dimension:
            return found.unsqueeze(2)
    return None


def _replaced(x: torch.Tensor, dimension: int, s: int) -> torch.Tensor | None:
    """Another value at one position of every row: one that is found elsewhere in the batch."""
    mine = x.select(dimension, s)
    if x.is_floating_point():
        candidates = [x.select(dimension, i) for i in (s - 1, 0, x.shape[dimension] - 1)]
        new = next((c for c in candidates if not torch.equal(c, mine)), None)
    else:
        values = torch.unique(x)
        new = values[(torch.searchsorted(values, mine.contiguous()) + 1) % len(values)] if len(values) > 1 else None
    if new is None:
        return None
    other = x.clone()
    other.select(dimension, s).copy_(new)
    return other


def _where(rerun: Rerun, index: int, other: torch.Tensor, length: int, s: int) -> Spot | None:
    kept = Keep()
    rerun.run(watch=kept)
    compare = Compare(kept, lambda changed: _in_order(changed, length, s))
    rerun.run(index, other, watch=compare)
    return compare.spot


def _in_order(changed: torch.Tensor, length: int, s: int) -> bool:
    """Only this position and later ones changed, along some dimension that may be the sequence (padded by a convolution, too)."""
    if confined(changed, length, lambda at: at >= s):
        return True
    padded = (d for d, size in enumerate(changed.shape) if length < size <= length + PADDING)
    return any(bool((along(changed, d) >= s).all()) for d in padded)
