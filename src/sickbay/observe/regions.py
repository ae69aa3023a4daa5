"""Which part of a tensor an index like `x[i, 2:4]` means: so much that two parts can be told apart, without looking at memory."""

from __future__ import annotations

from typing import Any

Region = tuple[tuple[int, int], ...]
"""Per dimension (length, position): (0, i) for a plain index, (n, k) for the k-th stretch of n, (-1, 0) for all of it."""
WHOLE: Region = ()


def region_of(index: Any) -> Region | None:
    """None if the index does not tell (a tensor, a mask, a count from the end)."""
    parts = []
    for part in index if isinstance(index, tuple) else (index,):
        if type(part) is int and part >= 0:
            parts.append((0, part))
        elif isinstance(part, slice) and (stretch := _stretch(part)) is not None:
            parts.append(stretch)
        else:
            return None
    return tuple(parts)


def _stretch(part: slice) -> tuple[int, int] | None:
    if part.step not in (None, 1):
        return None
    if part.start is None and part.stop is None:
        return -1, 0
    start = 0 if part.start is None else part.start
    if type(start) is not int or type(part.stop) is not int or not 0 <= start < part.stop:
        return None
    length = part.stop - start
    return (length, start // length) if start % length == 0 else None


def form(region: Region) -> tuple[int, ...]:
    """Two regions of the same form are the same or have nothing in common."""
    return tuple(length for length, _ in region)


def within(outer: Region | None, inner: Region | None) -> Region | None:
    """The part `inner` of the part `outer` (`x[i][j]`), as a part of the whole."""
    if outer is None or inner is None:
        return None
    return outer + inner if all(length == 0 for length, _ in outer) else None
