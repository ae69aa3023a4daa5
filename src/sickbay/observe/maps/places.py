"""The same numbers in other places: axes, channels and columns in another order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from sickbay.observe.maps.numbers import Array

MOST_COLUMNS = 5000


@dataclass(frozen=True, slots=True)
class Arranged:
    """The same numbers in other places."""

    values: Array
    text: str
    code: str


def arrangements(a: Array, b: Array) -> Iterator[Arranged]:
    """Training's array in other orders that have serving's shape, itself first."""
    if a.shape == b.shape:
        yield Arranged(a, "", "")
    if a.ndim - 1 != b.ndim - 1:
        yield from _squeezed(a, b)
        return
    if a.ndim == 2:
        if (order := _columns(a, b)) is not None:
            yield Arranged(a[:, order], "the columns are in another order", f"x = x[:, {_inverse(order)}]")
        return
    if a.ndim not in (3, 4) or sorted(a.shape[1:]) != sorted(b.shape[1:]):
        return
    for axes in permutations(range(1, a.ndim)):
        turned = a.transpose(0, *axes)
        if turned.shape != b.shape:
            continue
        moved = axes != tuple(range(1, a.ndim))
        text, code = (_turned(a, axes), f"x = x.transpose({', '.join(map(str, np.argsort((0, *axes))))})") if moved else ("", "")
        if moved:
            yield Arranged(turned, text, code)
        for axis in range(1, a.ndim):
            name = _flipped(turned.shape, axis)
            yield Arranged(np.flip(turned, axis), ", ".join(filter(None, (text, name))), "\n".join(filter(None, (f"x = np.flip(x, {axis})", code))))


def _turned(a: Array, order: tuple[int, ...]) -> str:
    if a.ndim == 4 and a.shape[3] in (1, 3, 4) and order == (3, 1, 2):
        return "channels come first instead of last (HWC to CHW)"
    if a.ndim == 4 and a.shape[1] in (1, 3, 4) and order == (2, 3, 1):
        return "channels come last instead of first (CHW to HWC)"
    return f"the axes are in another order ({', '.join(map(str, order))} of 1 to {a.ndim - 1})"


def _flipped(shape: tuple[int, ...], axis: int) -> str:
    if shape[axis] in (3, 4) and axis in (1, len(shape) - 1):
        return "the channels are reversed (RGB and BGR)"
    return f"axis {axis} is reversed"


def _squeezed(a: Array, b: Array) -> Iterator[Arranged]:
    """The same numbers with an axis of one more or less, or flat."""
    if a.size == b.size and len(a) == len(b):
        text = "it is flat" if b.ndim == 2 else f"it has the shape {b.shape[1:]} instead of {a.shape[1:]}"
        yield Arranged(a.reshape(b.shape), text, f"x = x.reshape({', '.join(map(str, (-1, *a.shape[1:])))})")


def _columns(a: Array, b: Array) -> list[int] | None:
    """Which of training's columns each of serving's is; None unless all are found, once each."""
    if a.shape != b.shape or not 2 <= a.shape[1] <= MOST_COLUMNS or len(a) < 2:
        return None
    names: dict[bytes, list[int]] = {}
    for i, column in enumerate(_rounded(a)):
        names.setdefault(column, []).append(i)
    order = []
    for column in _rounded(b):
        if not (found := names.get(column)):
            return None
        order.append(found.pop(0))
    return order if order != list(range(len(order))) else None


def _rounded(x: Array) -> list[bytes]:
    """Columns to four digits of their own size, so that rounding does not matter."""
    values = x.T.astype(np.float64)
    size = np.maximum(np.abs(np.nan_to_num(values)).max(1, keepdims=True), 1e-300)
    return [np.round(row, 4).tobytes() for row in values / size + 0.0] if x.dtype.kind == "f" else [row.tobytes() for row in values]


def _inverse(order: list[int]) -> str:
    back = np.argsort(order).tolist()
    return str(back) if len(back) <= 32 else "order"
