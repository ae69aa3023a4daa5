"""Whether targets follow from inputs at all: what neighbours and a linear map tell of them, beside what they tell of targets dealt out at random."""

from __future__ import annotations

import numpy as np

from sickbay import facts
from sickbay.observe.examples.means import Linear, neighbours, one_hot, standardised
from sickbay.observe.examples.rows import SERIES, TABLE
from sickbay.observe.numbers import Array

DEALS = 10
"""Times that targets are dealt out at random: enough for a mean and, with the binomial error as a floor, a spread."""
MOST_CLASSES = 64
FEWEST_ROWS = 60
EDGE = 1.25
"""How far the largest eigenvalue of the columns' correlations may lie beyond what independent columns give (Marchenko and Pastur): the largest of
500 draws of independent normal columns was 1.02 (100 to 2,000 rows, 5 to 200 columns); columns with other distributions get room."""


class Views:
    """The inputs of one sample in the ways in which the simple means look at them."""

    def __init__(self, numbers: Array, kind: str) -> None:
        x = np.sqrt(np.maximum(numbers, 0)) if kind == "tokens" else numbers
        self.x = standardised(x, kind in (TABLE, SERIES))
        self.nearest = neighbours(self.x) if self.x.shape[1] else np.zeros((len(x), 0), np.int64)
        self.linear = Linear(self.x)

    def of_classes(self, y: Array) -> facts.Relation:
        """`y` are class numbers from 0 without gaps."""
        count = int(y.max()) + 1
        draws = np.random.default_rng(0)
        hot = one_hot(y, count)
        found = []
        for method in ("neighbours", "linear"):
            score, agreement = self._right(method, hot, y)
            dealt = np.array([self._right(method, hot[order], y[order]) for order in (draws.permutation(len(y)) for _ in range(DEALS))])
            chance, spread = dealt.mean(0), dealt.std(0)
            floor = np.sqrt(max(chance[0] * (1 - chance[0]), 1e-4) / len(y))
            # The model's answers are compared by how many are right and by how much the right class is favoured: the second sees weaker relations.
            beyond = max((score - chance[0]) / max(spread[0], floor), (agreement - chance[1]) / max(spread[1], 1e-9) if method == "neighbours" else 0.0)
            found.append((score, chance[0], max(spread[0], floor), beyond, method))
        score, chance, spread, _, method = max(found)
        beyond = max(f[3] for f in found)
        majority = float(np.bincount(y).max() / len(y))
        return facts.Relation(
            rows=len(y), score=float(score), chance=float(chance), spread=float(spread), beyond=float(beyond), majority=majority, method=method
        )

    def quick(self, y: Array, classes: bool) -> float:
        """By neighbours alone, and of the targets that are known (finite)."""
        known = np.isfinite(y)
        if not classes:
            z = np.where(known, y - y[known].mean(), 0.0)
            told = z[self.nearest].mean(1)
            return float(1 - ((told - z)[known] ** 2).mean() / max(float(z[known].var()), 1e-30))
        named = np.unique(y[known], return_inverse=True)[1]
        hot = np.zeros((len(y), int(named.max()) + 1), np.float32)
        hot[known, named] = 1
        return float((hot[self.nearest].sum(1)[known].argmax(1) == named).mean())

    def _right(self, method: str, hot: Array, y: Array) -> tuple[float, float]:
        told = hot[self.nearest].mean(1) if method == "neighbours" else self.linear.told(hot)
        return float((told.argmax(1) == y).mean()), float(told[np.arange(len(y)), y].mean())

    def of_numbers(self, y: Array) -> facts.Relation:
        """By the order of the numbers: a few huge ones must not decide."""
        ranks = np.argsort(np.argsort(y)).astype(np.float64)
        z = ((ranks - ranks.mean()) / max(ranks.std(), 1e-9)).astype(np.float32)
        found = []
        for method in ("neighbours", "linear"):
            told = z[self.nearest].mean(1) if method == "neighbours" else self.linear.told(z[:, None])[:, 0]
            error = float(((told - z) ** 2).mean())
            along = float(np.corrcoef(told, z)[0, 1]) if told.std() > 0 else 0.0
            found.append((1 - error, along * np.sqrt(len(z)), method))
        score, _, method = max(found)
        return facts.Relation(rows=len(y), score=score, spread=1 / np.sqrt(len(y)), beyond=float(max(f[1] for f in found)), method=method)


def relation(views: Views, y: Array, classes: bool) -> facts.Relation | None:
    """None where there is too little to say anything."""
    if len(y) < FEWEST_ROWS or not views.x.shape[1]:
        return None
    if not classes:
        return views.of_numbers(y) if len(np.unique(y)) > 2 else None
    named, y = np.unique(y, return_inverse=True)
    return views.of_classes(y) if 2 <= len(named) <= MOST_CLASSES else None


def like_noise(x: Array) -> bool:
    """Columns that have nothing to do with each other."""
    rows, columns = x.shape
    if columns < 2 or rows < FEWEST_ROWS:
        return False
    spread = np.maximum(x.std(0), 1e-9)
    correlations = (x / spread).T @ (x / spread) / rows
    largest = float(np.linalg.eigvalsh(correlations)[-1])
    return largest < EDGE * float((1 + np.sqrt(columns / rows)) ** 2)
