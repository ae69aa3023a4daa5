"""Several labels at once: each sample has any number of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sickbay.exams.evaluate_classes import class_score
from sickbay.exams.evaluate_reliability import Sureness
from sickbay.exams.intervals import bootstrap, wilson
from sickbay.facts.evaluated import ClassScore, Mistake, Reliability, Score, Standing

Array = NDArray[Any]


class Labels:
    """`likely`: probability of each label for each sample; `given`: 0 or 1."""

    def __init__(self, likely: Array, given: Array) -> None:
        self.likely = likely.astype(np.float64)
        self.given = given > 0.5
        self.said = np.nan_to_num(self.likely) > 0.5
        self.hits = self.given & self.said

    @property
    def right(self) -> Array:
        """Share of the labels of each sample that are right."""
        return np.asarray((self.given == self.said).mean(1))

    def score(self) -> Score:
        """F1 over all labels of all samples: unlike the share that is right, it is not high where labels are rare."""
        rows = np.stack([self.hits.sum(1), self.given.sum(1) + self.said.sum(1)], 1).astype(np.float64)
        low, high = bootstrap(rows, _f1)
        return Score(name="F1 of all labels", value=float(_f1(rows.sum(0)[None])[0]), low=low, high=high, constant=self._constant())

    def _constant(self) -> float:
        """The best set of labels that is given to every sample: the commonest ones, as many as pay."""
        counts = np.sort(self.given.sum(0))[::-1]
        total, n = counts.sum(), len(self.given)
        sizes = np.arange(1, len(counts) + 1)
        return float((2 * np.cumsum(counts) / np.maximum(total + n * sizes, 1)).max()) if len(counts) else 0.0

    def standing(self, score: Score) -> Standing:
        return "beyond" if score.low > score.constant else "below" if score.high < score.constant else "unclear"

    def more(self) -> tuple[Score, ...]:
        every = (self.given == self.said).all(1)
        low, high = wilson(int(every.sum()), len(every))
        _, counts = np.unique(self.given, axis=0, return_counts=True)
        exact = Score(name="samples with all labels right", value=float(every.mean()), low=low, high=high, constant=float(counts.max() / len(every)))
        rows = np.stack([self.right, np.ones(len(every))], 1)
        low, high = bootstrap(rows, lambda sums: sums[:, 0] / sums[:, 1])
        share = self.given.mean(0)
        single = Score(
            name="labels that are right", value=float(self.right.mean()), low=low, high=high, constant=float(np.maximum(share, 1 - share).mean())
        )
        return exact, single

    def table(self, names: Sequence[str]) -> tuple[ClassScore, ...]:
        counts = self.given.sum(0), self.said.sum(0), self.hits.sum(0)
        return tuple(class_score(name, int(g), int(s), int(h)) for name, g, s, h in zip(names, *counts, strict=True))

    def reliability(self) -> Reliability | None:
        sureness = Sureness("positive class")
        fine = np.isfinite(self.likely)
        sureness.add(self.likely[fine], self.given[fine], float((self.given == self.said).sum()))
        return sureness.told(independent=False)

    def worst(self, names: Sequence[str], most: int) -> tuple[Mistake, ...]:
        own = np.where(self.given, self.likely, 1 - self.likely)
        losses = -np.log(np.clip(own, 1e-12, 1.0)).mean(1)
        told = [[", ".join(n for n, has in zip(names, row, strict=True) if has) or "none" for row in table] for table in (self.said, self.given)]
        return tuple(
            Mistake(index=int(i), loss=float(losses[i]), predicted=told[0][i], target=told[1][i])
            for i in np.argsort(-np.nan_to_num(losses, nan=np.inf), kind="stable")[:most]
        )


def _f1(sums: Array) -> Array:
    return np.asarray(2 * sums[:, 0] / np.maximum(sums[:, 1], 1))
