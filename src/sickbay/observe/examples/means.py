"""The simple means by which targets are told from inputs, in numpy: neighbours, a linear map, a smooth map. Every sample is told from all others.

Leaving one out costs nothing extra: a sample is not its own neighbour, and for linear smoothers (Allen 1974) the answer without a sample follows
from the answer with it.
"""

from __future__ import annotations

import numpy as np

from sickbay.observe.numbers import Array

NEIGHBOURS = 10
BLOCK = 256
"""Rows whose distances are held at once: at most some MB."""
FAR = 8.0
"""Standardised numbers are cut here: one broken value must not decide about all distances."""
PENALTY = 0.03
"""Of the linear map, times the number of rows: with standardised columns it costs a strong relation 3 %."""


def standardised(numbers: Array, by_column: bool) -> Array:
    """Mean 0 and spread 1: of each column (tables), or of all together (pixels, counts of tokens), where a column's spread tells how much it matters."""
    x = numbers.astype(np.float64)
    x = x - x.mean(0)
    spread = x.std(0)
    varies = spread > 1e-9 * max(float(np.abs(numbers).max(initial=0.0)), 1e-30)
    x, spread = x[:, varies], spread[varies]
    if x.shape[1]:
        x /= spread if by_column else np.sqrt((spread**2).mean())
    return np.asarray(np.clip(x, -FAR, FAR), np.float32)


def distances(x: Array, rows: slice) -> Array:
    """Squared distances of some rows from all; of each from itself, infinite."""
    squares = np.einsum("ij,ij->i", x, x)
    d = squares[rows, None] + squares[None] - 2.0 * (x[rows] @ x.T)
    d[np.arange(d.shape[0]), np.arange(rows.start, rows.start + d.shape[0])] = np.inf
    return np.asarray(np.maximum(d, 0.0))


def neighbours(x: Array, count: int = NEIGHBOURS) -> Array:
    """The nearest other rows of each row."""
    blocks = [slice(at, min(at + BLOCK, len(x))) for at in range(0, len(x), BLOCK)]
    return np.concatenate([np.argpartition(distances(x, block), count - 1, axis=1)[:, :count] for block in blocks])


def one_hot(classes: Array, count: int) -> Array:
    return np.eye(count, dtype=np.float32)[classes]


class Linear:
    """A ridge regression of anything on the same rows."""

    def __init__(self, x: Array) -> None:
        self.x = np.column_stack([x, np.ones(len(x), np.float32)])
        gram = self.x.T @ self.x
        gram[np.arange(len(gram) - 1), np.arange(len(gram) - 1)] += PENALTY * len(x)
        self.map = np.linalg.solve(gram, self.x.T)
        self.own = np.minimum(np.einsum("ij,ji->i", self.x, self.map), 0.99)[:, None]
        """How much each row's answer owes to its own target."""

    def told(self, y: Array) -> Array:
        """The answer for each row, had it not been there."""
        return np.asarray((self.x @ (self.map @ y) - self.own * y) / (1 - self.own))


class Smooth:
    """Kernel ridge regression with a Gaussian kernel: neighbours that count by their distance."""

    def __init__(self, x: Array, width: float = 1.0, penalty: float = 0.5) -> None:
        d = np.concatenate([distances(x, slice(at, min(at + BLOCK, len(x)))) for at in range(0, len(x), BLOCK)])
        near = np.median(np.partition(d, NEIGHBOURS - 1, axis=1)[:, NEIGHBOURS - 1])
        d[np.arange(len(d)), np.arange(len(d))] = 0.0
        kernel = np.exp(-d / (2 * max(float(near), 1e-12) * width))
        kernel[np.arange(len(d)), np.arange(len(d))] += penalty
        self.inverse = np.linalg.inv(kernel)
        self.diagonal = np.diag(self.inverse)[:, None]

    def told(self, y: Array) -> Array:
        return np.asarray(y - (self.inverse @ y) / self.diagonal)
