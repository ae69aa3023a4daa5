"""Tables of the same samples that are not each other's image number for number (one went through text, with a few digits only), but nearly."""

from __future__ import annotations

import numpy as np

from sickbay.observe.maps.numbers import Array, Map

FEWEST_ROWS, FEWEST_COLUMNS, MOST_COLUMNS = 8, 3, 512
STRAIGHT, MOST = 0.9999, 0.9
"""Correlation of two columns over eight rows and more, and for how many columns: two different quantities come nowhere near it."""
SAME = 0.02
"""Of a column's spread: what rounding to two digits leaves."""


def nearly(a: Array, b: Array) -> Map | None:
    """What makes `b` of `a`, a row for each sample: another order of the columns, or a factor and a shift for each; None where neither does."""
    if a.shape != b.shape or a.ndim != 2 or len(a) < FEWEST_ROWS or not FEWEST_COLUMNS <= a.shape[1] <= MOST_COLUMNS:
        return None
    x, y = a.astype(np.float64), b.astype(np.float64)
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        return None
    vary = (x.std(0) > 0) & (y.std(0) > 0)
    if vary.sum() < FEWEST_COLUMNS:
        return None
    x, y = x[:, vary], y[:, vary]
    alike = _scaled(x).T @ _scaled(y) / len(x)
    if float((np.diag(alike) > STRAIGHT).mean()) >= MOST:
        return _lines(x, y)
    order = alike.argmax(0)
    found = alike.max(0) > STRAIGHT
    if vary.all() and float(found.mean()) >= MOST and len(set(order.tolist())) == len(order):
        return Map("the columns are in another order", f"x = x[:, {np.argsort(order).tolist()}]")
    return None


def _scaled(x: Array) -> Array:
    return np.asarray((x - x.mean(0)) / x.std(0))


def _lines(x: Array, y: Array) -> Map | None:
    factor = y.std(0) / x.std(0)
    shift = y.mean(0) - factor * x.mean(0)
    if float(np.median(np.abs(factor - 1))) < SAME and float(np.median(np.abs(shift) / y.std(0))) < SAME:
        return None  # as they were, but for rounding
    return Map(
        f"each column of serving's is training's times a factor and shifted ({factor.min():.3g} to {factor.max():.3g} times as wide)",
        "x = (x - train_mean) / train_std  # the numbers of the training set",
    )
