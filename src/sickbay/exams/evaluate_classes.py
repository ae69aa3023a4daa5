"""Given classes beside predicted ones: counted batch by batch, so that memory grows with the samples and not with what they hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sickbay.exams.evaluate_reliability import Sureness
from sickbay.exams.intervals import BLOCKS, Z_95, bootstrap, paired, wilson
from sickbay.facts.evaluated import ClassScore, Confused, Mistake, Reliability, Score, Standing

Array = NDArray[Any]
MOST_CLASSES = 1000
"""With more there is no table of all pairs: a vocabulary of 50,000 words would fill 20 GB."""
MOST_DRAWN = 32
"""Classes up to which the interval of mean recall and mean F1 is drawn: a thousand draws of a thousand numbers take half a second."""
PAIRS = 10


@dataclass(slots=True)
class SeenClasses:
    """One batch: one row per sample, one column per position (one, or the pixels of an image, or the tokens of a text)."""

    predicted: Array
    target: Array
    sure: Array
    """Probability of the predicted class; with two classes told by one number, of the second."""
    loss: Array
    """Minus the logarithm of the target's probability."""


class ClassTally:
    def __init__(self, classes: int, *, yes_or_no: bool) -> None:
        self.classes = classes
        self.yes_or_no = yes_or_no
        self.positions = 1
        self.matrix = np.zeros((classes, classes), np.int64) if classes <= MOST_CLASSES else None
        self.given, self.said, self.hits = np.zeros((3, classes), np.int64)
        self.sureness = Sureness("positive class" if yes_or_no else "predicted class")
        self.left_out = 0
        self.nonfinite = 0
        """Answers that are NaN: they count as wrong, and as no prediction of any class."""
        self._right: list[Array] = []
        self._counted: list[Array] = []
        self._loss: list[Array] = []
        self._pairs: list[Array] = []
        self._sure: list[Array] = []

    def add(self, seen: SeenClasses) -> None:
        known = (seen.target >= 0) & (seen.target < self.classes)
        self.left_out += int((~known).sum())
        finite = np.isfinite(seen.loss) | ~known
        usable = known & np.isfinite(seen.sure)
        self.nonfinite += int((known & ~usable).sum())
        right = usable & (seen.predicted == seen.target)
        t, p = seen.target[usable], seen.predicted[usable]
        self.given += np.bincount(seen.target[known], minlength=self.classes)
        self.said += np.bincount(p, minlength=self.classes)
        self.hits += np.bincount(seen.target[right], minlength=self.classes)
        if self.matrix is not None:
            self.matrix += np.bincount(t * self.classes + p, minlength=self.classes**2).reshape(self.matrix.shape)
        came_true = seen.target[usable] == (1 if self.yes_or_no else seen.predicted[usable])
        self.sureness.add(seen.sure[usable].astype(np.float64), came_true, float(right.sum()))
        counted = known.sum(1)
        self.positions = max(self.positions, seen.target.shape[1])
        self._right.append(right.sum(1).astype(np.int32))
        self._counted.append(counted.astype(np.int32))
        losses = np.where(known & finite, seen.loss, 0.0).sum(1) / np.maximum(counted, 1)
        self._loss.append(np.where((known & ~finite).any(1), np.inf, losses).astype(np.float32))
        if seen.target.shape[1] == 1:
            self._pairs.append(np.stack([seen.target[:, 0], seen.predicted[:, 0]], 1).astype(np.int32))
            self._sure.append(seen.sure[:, 0].astype(np.float32))

    # -- what all of it says ------------------------------------------------------------------------------------

    @property
    def single(self) -> bool:
        """One answer per sample."""
        return self.positions == 1

    @property
    def right(self) -> Array:
        """Of each sample, the share that is right; NaN where nothing is counted."""
        counted = np.concatenate(self._counted)
        return np.where(counted > 0, np.concatenate(self._right) / np.maximum(counted, 1), np.nan)

    @property
    def targets(self) -> Array | None:
        """The class of each sample, where it has one."""
        return np.concatenate(self._pairs)[:, 0] if self.single and self._pairs else None

    @property
    def samples(self) -> int:
        return int((np.concatenate(self._counted) > 0).sum()) if self._counted else 0

    @property
    def total(self) -> int:
        return int(self.given.sum())

    def accuracy(self) -> Score:
        right, n = int(self.hits.sum()), self.total
        if self.single:
            low, high = wilson(right, n)
        else:
            rows = np.stack([np.concatenate(self._right), np.concatenate(self._counted)], 1).astype(np.float64)
            low, high = bootstrap(rows, lambda sums: sums[:, 0] / sums[:, 1])
        return Score(name="accuracy", value=right / max(n, 1), low=low, high=high, constant=float(self.given.max() / max(n, 1)))

    def standing(self) -> Standing:
        """Against always saying the commonest class, sample by sample where there is one answer per sample."""
        score = self.accuracy()
        if not self.single:
            return "beyond" if score.low > score.constant else "below" if score.high < score.constant else "unclear"
        pairs = np.concatenate(self._pairs)
        pairs = pairs[(pairs[:, 0] >= 0) & (pairs[:, 0] < self.classes)]
        mean, error = paired((pairs[:, 0] == pairs[:, 1]) - (pairs[:, 0] == int(self.given.argmax())).astype(np.float64))
        return "beyond" if mean > Z_95 * error else "below" if mean < -Z_95 * error else "unclear"

    def more(self) -> tuple[Score, ...]:
        present = np.flatnonzero(self.given)
        found = [self._over_classes("mean recall of the classes", _mean_recall, 1 / max(len(present), 1))]
        majority = int(self.given.argmax())
        alone = 2 * self.given[majority] / (self.total + self.given[majority]) if self.total else 0.0
        found.append(self._over_classes("mean F1 of the classes", _mean_f1, float(alone / max(len(present), 1))))
        if self.yes_or_no and self.single and (area := self._area()) is not None:
            found.append(area)
        if (loss := self._cross_entropy()) is not None:
            found.append(loss)
        return tuple(found)

    def _over_classes(self, name: str, score: Any, constant: float) -> Score:
        low = high = math.nan
        counts = np.stack([self.given, self.said, self.hits])[None].astype(np.float64)
        if self.single and self.classes <= MOST_DRAWN and self.samples > 1:
            low, high = bootstrap(self._blocks(), lambda sums: score(sums.reshape(len(sums), 3, self.classes)))
        return Score(name=name, value=float(score(counts)[0]), low=low, high=high, constant=constant)

    def _blocks(self) -> Array:
        """Given, said and right per class, summed over random blocks of samples."""
        pairs = np.concatenate(self._pairs)
        pairs = pairs[(pairs[:, 0] >= 0) & (pairs[:, 0] < self.classes)]
        blocks = min(len(pairs), BLOCKS)
        block = np.random.default_rng(0).permutation(len(pairs)) % blocks
        right = pairs[:, 0] == pairs[:, 1]
        parts = ((block, pairs[:, 0]), (block, pairs[:, 1]), (block[right], pairs[right, 0]))
        size = blocks * self.classes
        table = [np.bincount(b * self.classes + c, minlength=size).reshape(blocks, self.classes) for b, c in parts]
        return np.concatenate(table, 1).astype(np.float64)

    def _area(self) -> Score | None:
        """Under the ROC curve, with the standard error of Hanley and McNeil 1982."""
        target, sure = np.concatenate(self._pairs)[:, 0], np.concatenate(self._sure).astype(np.float64)
        keep = np.isfinite(sure) & (target >= 0) & (target < 2)
        yes, no = int((target[keep] == 1).sum()), int((target[keep] == 0).sum())
        if not yes or not no:
            return None
        _, place, counts = np.unique(sure[keep], return_inverse=True, return_counts=True)
        ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
        area = float((ranks[target[keep] == 1].sum() - yes * (yes + 1) / 2) / (yes * no))
        q1, q2 = area / (2 - area), 2 * area * area / (1 + area)
        error = math.sqrt(max(0.0, area * (1 - area) + (yes - 1) * (q1 - area**2) + (no - 1) * (q2 - area**2)) / (yes * no))
        return Score(name="area under the ROC curve", value=area, low=max(0.0, area - Z_95 * error), high=min(1.0, area + Z_95 * error), constant=0.5)

    def _cross_entropy(self) -> Score | None:
        counted, losses = np.concatenate(self._counted), np.concatenate(self._loss).astype(np.float64)
        rows = np.stack([losses * counted, counted], 1)[counted > 0]
        if not len(rows) or not np.isfinite(rows).all():
            return None
        low, high = bootstrap(rows, lambda sums: sums[:, 0] / sums[:, 1])
        share = self.given[self.given > 0] / self.total
        value = float(rows[:, 0].sum() / rows[:, 1].sum())
        return Score(name="cross-entropy", value=value, low=low, high=high, constant=float(-(share * np.log(share)).sum()), larger_is_better=False)

    def table(self, names: Sequence[str]) -> tuple[ClassScore, ...]:
        return tuple(class_score(names[c], int(self.given[c]), int(self.said[c]), int(self.hits[c])) for c in range(self.classes))

    def confusion(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(int(v) for v in row) for row in self.matrix) if self.matrix is not None else ()

    def confused(self, names: Sequence[str]) -> tuple[Confused, ...]:
        """The pairs that are surely frequent first: by the lower end of their interval, so that one of two cases does not lead."""
        if self.matrix is None:
            return ()
        found = []
        for t, p in np.argwhere(self.matrix > 0):
            if t != p:
                n, support = int(self.matrix[t, p]), int(self.given[t])
                found.append(Confused(given=names[t], taken_for=names[p], count=n, support=support, low=wilson(n, support)[0]))
        return tuple(sorted(found, key=lambda c: (-c.low, -c.count))[:PAIRS])

    def reliability(self) -> Reliability | None:
        return self.sureness.told(independent=self.single)

    def worst(self, names: Sequence[str], most: int) -> tuple[Mistake, ...]:
        """The samples with the largest loss, largest first."""
        losses = np.concatenate(self._loss)
        order = np.argsort(-losses, kind="stable")
        order = order[np.concatenate(self._counted)[order] > 0][:most]
        if not self.single:
            right = self.right
            return tuple(Mistake(index=int(i), loss=float(losses[i]), predicted=f"{100 * right[i]:.0f} % right", target="") for i in order)
        pairs, sure = np.concatenate(self._pairs), np.concatenate(self._sure)
        return tuple(
            Mistake(
                index=int(i),
                loss=float(losses[i]),
                predicted=names[pairs[i, 1]],
                target=names[pairs[i, 0]],
                confidence=float(1 - sure[i] if self.yes_or_no and not pairs[i, 1] else sure[i]),
            )
            for i in order
        )


def class_score(name: str, given: int, said: int, hits: int) -> ClassScore:
    low, high = wilson(hits, given)
    return ClassScore(
        name=name,
        support=given,
        predicted=said,
        precision=hits / said if said else 0.0,
        recall=hits / given if given else 0.0,
        recall_low=low,
        recall_high=high,
        f1=2 * hits / (given + said) if given + said else 0.0,
    )


def _mean_recall(counts: Array) -> Array:
    """Over the classes that occur; `counts` holds given, said and right, per class, for each draw."""
    given, hits = counts[:, 0], counts[:, 2]
    return np.asarray(np.where(given > 0, hits / np.maximum(given, 1), 0.0).sum(1) / np.maximum((given > 0).sum(1), 1))


def _mean_f1(counts: Array) -> Array:
    """Over the classes that occur or are predicted."""
    both = counts[:, 0] + counts[:, 1]
    return np.asarray((2 * counts[:, 2] / np.maximum(both, 1)).sum(1) / np.maximum((both > 0).sum(1), 1))
