"""What maps one array to another of the same samples: tried one after the other, and believed only where the result is the other array, number for number."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
RELATIVE = {2: 2e-3, 4: 2e-5, 8: 1e-7}
"""Bytes of a number, and how far apart the same computation may land in another order of its steps: some ten times the last digit."""
LOOSER = 10.0
"""A fitted factor adds its own rounding."""
TRIED = 200_000
"""Numbers that a map is tried on before it is tried on all."""
MOST_COLUMNS = 5000
FEWEST = 5
"""Different values from which a factor and a shift mean anything: two numbers always fit."""
PIXEL = 255.0
STANDARD, RAW = 0.7, 1.2
"""How far means and spreads (as logarithms) may be from 0 and 1 to be standardised: a few rows of another set, or ImageNet's statistics on one's own images, give up to
0.7; and beyond what statistics of ten rows give, they are not."""


@dataclass(frozen=True, slots=True)
class Map:
    """From training to serving, in words; and back again, as code."""

    text: str
    code: str


@dataclass(frozen=True, slots=True)
class Arranged:
    """The same numbers in other places."""

    values: Array
    text: str
    code: str


def tolerance(a: Array, b: Array) -> float:
    floats = [x.dtype.itemsize for x in (a, b) if x.dtype.kind == "f"]
    return RELATIVE.get(min(floats), 1e-7) if floats else 0.0


def differs(a: Array, b: Array, looser: float = 1.0) -> Array:
    """Where two arrays of one shape differ beyond rounding. NaN is the same as NaN."""
    if a.dtype.kind not in "fiub" or b.dtype.kind not in "fiub":
        return np.asarray(a != b)
    near = looser * tolerance(a, b)
    x, y = a.astype(np.float64), b.astype(np.float64)
    finite = y[np.isfinite(y)]
    size = float(np.abs(finite).mean()) if len(finite) else 0.0
    with np.errstate(invalid="ignore"):
        return np.asarray(~((x == y) | (np.abs(x - y) <= near * (np.abs(y) + size)) | (np.isnan(x) & np.isnan(y))))


def same(a: Array, b: Array, looser: float = 1.0) -> bool:
    if a.shape != b.shape:
        return False
    few = max(1, TRIED // max(1, math.prod(a.shape[1:])))
    return not differs(a[:few], b[:few], looser).any() and (few >= len(a) or not differs(a, b, looser).any())


def explained(a: Array, b: Array) -> Map | None:
    """What makes training's `a` serving's `b`: both with one row per sample; None where nothing simple does."""
    if a.dtype.kind == b.dtype.kind == "U":
        return _texts(a, b)
    ways = list(arrangements(a, b))
    for way in ways:
        if way.text and same(way.values, b):
            return Map(way.text, way.code)
    for way in ways:
        if way.values.shape == b.shape and (found := _valued(way.values, b)) is not None:
            return Map(", ".join(filter(None, (way.text, found.text))), "\n".join(filter(None, (found.code, way.code))))
    return _shape(a, b)


# -- other places -----------------------------------------------------------------------------------------------


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


# -- other values -----------------------------------------------------------------------------------------------


def _valued(a: Array, b: Array) -> Map | None:
    """Other numbers in the same places."""
    if a.dtype.kind not in "fiub" or b.dtype.kind not in "fiub":
        return None
    for attempt in (_cast, _affine, _by_feature, _numbered, _filled, _clipped, _function):
        if (found := attempt(a, b)) is not None:
            return found
    return None


def _cast(a: Array, b: Array) -> Map | None:
    x, y = a.astype(np.float64), b.astype(np.float64)
    whole = bool((y == np.round(y)).all())
    if whole and not bool((x == np.round(x)).all()):
        if bool((np.trunc(x) == y).all()):
            return Map("numbers are cut to whole numbers", "# keep the numbers as floats: a cast to int drops what follows the point")
        if bool((np.abs(x - y) <= 0.5 + 1e-9).all()):
            return Map("numbers are rounded to whole numbers", "# keep the numbers as floats")
    # Eight bits on the way: every number is off by at most half a level, and lies on a level.
    scaled = y * PIXEL
    if (
        float(np.abs(x).max(initial=0.0)) <= 1 + 1e-6
        and bool((np.abs(scaled - np.round(scaled)) < 1e-3).all())
        and bool((np.abs(x - y) <= 0.51 / PIXEL).all())
    ):
        return Map("numbers are rounded to 8 bits (256 levels) on the way", "# keep the image in float between the steps, or save it losslessly")
    return None


def _fit(x: Array, y: Array) -> tuple[float, float] | None:
    """Factor and shift that make `y` of `x`; None where there is too little to tell."""
    fine = np.isfinite(x) & np.isfinite(y)
    if not np.array_equal(np.isfinite(x), np.isfinite(y)) or fine.sum() < FEWEST or len(np.unique(x[fine])) < FEWEST:
        return None
    x, y = x[fine], y[fine]
    middle, spread = x.mean(), x.var()
    if not spread:
        return None
    factor = float(((x - middle) * (y - y.mean())).mean() / spread)
    return factor, float(y.mean() - factor * middle)


def _affine(a: Array, b: Array) -> Map | None:
    x, y = a.astype(np.float64), b.astype(np.float64)
    found = _fit(x.reshape(-1)[:TRIED], y.reshape(-1)[:TRIED])
    if found is None or found[0] == 0 or not _close(x * found[0] + found[1], b, a):
        return None
    factor, shift = _tidy(*found, float(np.abs(y[np.isfinite(y)]).mean()))
    return factor_map(factor, shift) if (factor, shift) != (1.0, 0.0) else None


def _close(made: Array, b: Array, a: Array) -> bool:
    near = RELATIVE[8] if tolerance(a, b) == 0 else tolerance(a, b)
    kept = made.astype(np.float32 if near >= RELATIVE[4] else np.float64)
    return same(kept, b.astype(kept.dtype), LOOSER)


def _tidy(factor: float, shift: float, size: float) -> tuple[float, float]:
    """What rounding leaves of nothing is nothing."""
    shift = 0.0 if abs(shift) < 1e-4 * max(size, 1e-12) else shift
    return (1.0 if abs(factor - 1) < 1e-5 else factor), shift


def factor_map(factor: float, shift: float) -> Map:
    """In words: divided by 255, scaled to -1...1, shifted."""
    if not shift and abs(factor * PIXEL - 1) < 1e-3:
        return Map("serving is divided by 255, training is not", "x = x * 255")
    if not shift and abs(factor / PIXEL - 1) < 1e-3:
        return Map("training is divided by 255, serving is not", "x = x / 255")
    if abs(factor - 2) < 1e-3 and abs(shift + 1) < 1e-3:
        return Map("serving is scaled to -1...1, training to 0...1", "x = (x + 1) / 2")
    if abs(factor - 0.5) < 1e-3 and abs(shift - 0.5) < 1e-3:
        return Map("training is scaled to -1...1, serving to 0...1", "x = 2 * x - 1")
    parts = [f"times {factor:.4g}" if factor != 1 else "", f"plus {shift:.4g}" if shift > 0 else f"minus {-shift:.4g}" if shift else ""]
    inner = f"(x - {shift:.6g})" if shift > 0 else f"(x + {-shift:.6g})" if shift else "x"
    return Map(f"serving is training {' '.join(p for p in parts if p)}", f"x = {inner} / {factor:.6g}" if factor != 1 else f"x = {inner[1:-1]}")


def _by_feature(a: Array, b: Array) -> Map | None:
    """A factor and a shift for each channel, or for each column."""
    if a.ndim < 2:
        return None
    axes = [1] if a.ndim == 2 else [axis for axis in (1, a.ndim - 1) if a.shape[axis] <= 64]
    for axis in dict.fromkeys(axes):
        if not 2 <= a.shape[axis] <= MOST_COLUMNS:
            continue
        x, y = (np.moveaxis(v, axis, 0).reshape(v.shape[axis], -1).astype(np.float64) for v in (a, b))
        fits = [_feature_fit(p, q) for p, q in zip(x, y, strict=True)]
        if any(f is None for f in fits):
            continue
        factors, shifts = np.array([f for f in fits if f is not None]).T
        if _close(x * factors[:, None] + shifts[:, None], y.astype(b.dtype), x.astype(a.dtype)):
            return _standardised(x, y, "channel" if a.ndim > 2 else "column")
    return None


def _feature_fit(x: Array, y: Array) -> tuple[float, float] | None:
    """Also of a constant feature: a shift."""
    if (found := _fit(x, y)) is not None:
        return found
    gap = np.unique(y - x)
    return (1.0, float(gap[0])) if len(gap) == 1 and math.isfinite(gap[0]) else None


def _standardised(x: Array, y: Array, noun: str) -> Map:
    before, after = _unstandard(x), _unstandard(y)
    if after < STANDARD and before > RAW:
        return Map("serving is standardised, training is not", "x = x * std + mean  # of serving; or standardise in training too")
    if before < STANDARD and after > RAW:
        return Map("training is standardised, serving is not", "x = (x - train_mean) / train_std  # the numbers of the training set")
    return Map(
        f"each {noun} has its own factor and shift: scaled with other statistics (mean and spread)",
        "x = (x - train_mean) / train_std  # saved with the model, not computed again",
    )


def _unstandard(x: Array) -> float:
    """How far most features are from mean 0 and spread 1."""
    x = np.where(np.isfinite(x), x, np.nan)
    return float(np.nanmedian(np.abs(np.nanmean(x, 1))) + np.nanmedian(np.abs(np.log(np.maximum(np.nanstd(x, 1), 1e-30)))))


def _numbered(a: Array, b: Array) -> Map | None:
    """Whole numbers under other numbers: each has exactly one other name."""
    if a.dtype.kind not in "iu" or b.dtype.kind not in "iu":
        return None
    pairs = np.unique(np.stack([a.reshape(-1), b.reshape(-1)], 1).astype(np.int64), axis=0)
    one_to_one = len(np.unique(pairs[:, 0])) == len(pairs) == len(np.unique(pairs[:, 1]))
    if one_to_one and FEWEST <= len(pairs) <= a.size // 4:
        moved = int((pairs[:, 0] != pairs[:, 1]).sum())
        return Map(
            f"the same ids have other numbers ({moved} of {len(pairs)}): another vocabulary",
            "vocab = load_vocab(...)  # the one that was trained with",
        )
    if a.ndim == 2 and (pad := _padding(a)) is not None and _without(a, pad) == _without(b, pad):
        return Map("padding is on the other side", "# pad on the side that training pads on")
    return None


def _padding(ids: Array) -> int | None:
    """The id that stands at the end or the start of most rows."""
    for edge in (ids[:, -1], ids[:, 0]):
        values, counts = np.unique(edge, return_counts=True)
        if counts.max() > len(ids) / 2:
            return int(values[counts.argmax()])
    return None


def _without(ids: Array, pad: int) -> list[bytes]:
    return [row[row != pad].astype(np.int64).tobytes() for row in ids]


def _filled(a: Array, b: Array) -> Map | None:
    """Missing numbers here, a constant there."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    for holes, full, who in ((np.isnan(x), y, ("serving", "training")), (np.isnan(y), x, ("training", "serving"))):
        only = holes & ~np.isnan(full)
        if only.any() and same(np.where(only, 0.0, x), np.where(only, 0.0, y)):
            return Map(f"{who[0]} fills missing numbers, {who[1]} leaves them as NaN", "# fill with the same numbers, saved with the model")
    return None


def _clipped(a: Array, b: Array) -> Map | None:
    x, y = a.astype(np.float64), b.astype(np.float64)
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        return None
    for one, other, who in ((x, y, "serving"), (y, x, "training")):
        low, high = float(other.min()), float(other.max())
        cut = [f"{side} {limit:.4g}" for side, limit, end in (("below", low, one.min()), ("above", high, one.max())) if limit != end]
        if cut and same(np.clip(one, low, high), other):
            return Map(f"{who} is cut off {' and '.join(cut)}", "x = np.clip(x, low, high)  # in both, or in neither")
    return None


FUNCTIONS: tuple[tuple[str, str, Callable[[Array], Array]], ...] = (
    ("the logarithm of 1 + x", "x = np.expm1(x)", np.log1p),
    ("the logarithm", "x = np.exp(x)", np.log),
    ("the square root", "x = x ** 2", np.sqrt),
    ("the square", "x = np.sqrt(x)", np.square),
)


def _function(a: Array, b: Array) -> Map | None:
    """One of the usual functions, in serving or in training."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        for name, code, function in FUNCTIONS:
            for one, other, who, back in ((x, y, "serving", code), (y, x, "training", "")):
                made = function(one)
                if np.isfinite(made).all() and _close(made, other.astype(b.dtype), a):
                    return Map(f"{who} takes {name}", back or f"# take {name} in serving too")
    return None


def _texts(a: Array, b: Array) -> Map | None:
    for name, function in (("white space around", np.char.strip), ("capital letters", np.char.lower)):
        if a.shape == b.shape and bool((function(a) == function(b)).all()):
            return Map(f"the words differ by {name} only", "# strip and lower-case them in one shared function")
    return None


def _shape(a: Array, b: Array) -> Map | None:
    """Serving's rows are a part of training's, or the reverse."""
    if a.ndim != b.ndim or a.shape[2:] != b.shape[2:] or a.ndim < 2 or a.shape[1] == b.shape[1]:
        return None
    short = min(a.shape[1], b.shape[1])
    for part, where in ((slice(None, short), "end"), (slice(-short, None), "start")):
        one, other = (v[:, part] if v.shape[1] > short else v for v in (a, b))
        if same(one, other):
            who = "serving" if b.shape[1] < a.shape[1] else "training"
            return Map(
                f"{who} lacks {abs(a.shape[1] - b.shape[1])} of {max(a.shape[1], b.shape[1])} positions at the {where}", "# the same length in both"
            )
    return None
