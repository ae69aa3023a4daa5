"""Other numbers in the same places: scaled, cut, filled, renamed."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sickbay.observe.maps.numbers import RELATIVE, TRIED, Array, Map, same, tolerance
from sickbay.observe.maps.places import MOST_COLUMNS

LOOSER = 10.0
"""A fitted factor adds its own rounding."""
FEWEST = 5
"""Different values from which a factor and a shift mean anything: two numbers always fit."""
PIXEL = 255.0
STANDARD, RAW = 0.7, 1.2
"""How far means and spreads (as logarithms) may be from 0 and 1 to be standardised: a few rows of another set, or ImageNet's statistics on one's own images, give up to
0.7; and beyond what statistics of ten rows give, they are not."""


def valued(a: Array, b: Array) -> Map | None:
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
