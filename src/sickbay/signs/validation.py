"""Validation curves next to the training curve: shared by the three signs that compare them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sickbay.nouns import Series
from sickbay.record.reader import Record
from sickbay.signs.curves import Curve, curve, drift, start
from sickbay.signs.losses import adversarial, enough, judged_losses, training_losses

MINIMUM_EVALUATIONS = 5
"""Fewer points have no trend that chance could not give."""
MOST_EVALUATIONS = 1000
FEW_EVALUATIONS = 3
"""In a log each stands for an epoch or so; three that rise while training falls say something already."""


FLOOR = 0.25
SHORT = 30
WILD = 2.0
ONE_SCALE, OF_ANOTHER_KIND = 2.5, 1.5
"""How far above the untrained training loss the first evaluation may be if both are the same loss; and where training's is written by hand (a focal loss) and need not be what evaluation takes."""


@dataclass(frozen=True)
class Comparison:
    """One validation curve with the training loss at the same steps."""

    validation: Curve
    train: Curve
    train_level: np.ndarray
    """Median training loss between two evaluations, one value for each evaluation."""
    begin: float
    """What an untrained model scores: the first training losses, or the first evaluation if that is higher."""
    comparable: bool
    """Whether both losses are on one scale (one may be a sum, or lack a penalty)."""
    shift: float = 0.0
    """What was added to both, so that ratios mean something: of losses below zero (a Dice score with its sign turned, a log-likelihood)."""


def comparisons(record: Record) -> Iterator[Comparison]:
    logged = record.facts.log is not None
    losses = training_losses(record) if logged and not adversarial(record) else judged_losses(record)
    train, own_loss = max(((c, loss) for c, loss in losses if len(c)), key=lambda pair: len(pair[0]), default=(None, None))
    if train is None:
        return
    scale = ONE_SCALE if logged or own_loss is None or own_loss.heads else OF_ANOTHER_KIND
    evaluated = record.series_like("loss/eval")
    moving = [s for s in evaluated if len(s) and bool(np.any(s.values != s.values[0]))]
    for series in moving or evaluated:  # beside others that move, one that stands still is a baseline (persistence, the mean)
        c = curve(_fewer(series))
        if len(c) < enough(record, MINIMUM_EVALUATIONS, FEW_EVALUATIONS) or (c.nonfinite and not logged):
            continue
        shift = _shift(train, c)
        if shift and not logged:
            continue
        own, other = _shifted(c, shift), _shifted(train, shift)
        first, untrained = float(own.values[0]), _untrained(other) if logged else _before_learning(other)
        yield Comparison(
            own, other, _known(_levels(own, other)) if logged else _levels(own, other), max(untrained, first), first < scale * untrained, shift
        )


def _untrained(train: Curve) -> float:
    """Each of a log's first values may be the mean over an epoch, in which most is learned: of a short log the highest of them comes closest."""
    return float(np.max(train.values[:3])) if len(train) < SHORT else start(train).value


def _before_learning(train: Curve) -> float:
    """The first losses of a run that was watched step by step. Of one that learns in its very first steps these stand far above the level at its start; of one
    that begins wildly too, and there they say nothing of what an untrained model of its kind scores."""
    level = start(train).value
    return min(max(level, float(np.median(train.values[:3]))), WILD * level) if level > 0 else level


def _shift(train: Curve, validation: Curve) -> float:
    """0 for losses that are not below zero; else what brings both to at least a quarter of the way that training went."""
    low, high = min(float(np.min(train.values)), float(np.min(validation.values))), float(np.max(train.values))
    return 0.0 if low >= 0 else FLOOR * (high - low) - low


def _shifted(c: Curve, shift: float) -> Curve:
    return replace(c, values=c.values + shift) if shift else c


def _fewer(series: Series) -> Series:
    """Validation that was logged with every step tells no more than a thousand evaluations do."""
    every = -(-len(series) // MOST_EVALUATIONS)
    return series if every <= 1 else Series(series.name, series.steps[::-every][::-1], series.values[::-every][::-1])


def _levels(validation: Curve, train: Curve) -> np.ndarray:
    """Training loss at each evaluation: the median of the steps since the evaluation before it."""
    edges = np.searchsorted(train.steps, validation.steps, side="right")
    counts = np.diff(edges, prepend=0)
    out = np.full(len(edges), np.nan)
    out[counts == 1] = train.values[edges[counts == 1] - 1]
    for i in np.flatnonzero(counts != 1):
        high, low = edges[i], edges[i] - counts[i]
        if high > low:
            out[i] = np.median(train.values[low:high])
        elif i:
            out[i] = out[i - 1]
    return out


def _known(levels: np.ndarray) -> np.ndarray:
    """A log may tell its first evaluation before its first training loss (which the HF Trainer writes every 500 steps): the first that is told stands for it."""
    known = np.flatnonzero(np.isfinite(levels))
    return np.where(np.arange(len(levels)) < known[0], levels[known[0]], levels) if len(known) else levels


def validation_falls(record: Record, since: float, share: float) -> bool:
    """Whether some validation loss falls by more than `share` from that part of the run on, beyond its noise; a few values do if each is lower."""
    for pair in comparisons(record):
        tail = pair.validation.values[int(since * len(pair.validation)) :]
        down, error = drift(tail, pair.validation.noise)
        if down > share * abs(float(tail[-1])) and (down > 3 * error or (2 < len(tail) < 8 and bool(np.all(np.diff(tail) < 0)))):
            return True
    return False


def validation_won(record: Record, since: int) -> bool:
    """Whether validation is a tenth better than when training was at its best: then training became harder (augmentation, a new stage), not worse."""
    for series in record.series_like("loss/eval"):
        c = curve(series)
        then, now = c.values[c.steps <= since][-3:], c.values[-max(3, len(c) // 6) :]
        if len(then) and float(np.median(now)) < 0.9 * float(np.median(then)):
            return True
    return False


def smoothed(values: np.ndarray) -> np.ndarray:
    """Running median of three: one lucky or unlucky evaluation is no turning point."""
    if len(values) < 3:
        return values
    inner = np.median(np.stack([values[:-2], values[1:-1], values[2:]]), axis=0)
    return np.concatenate([[np.median(values[:2])], inner, [np.median(values[-2:])]])
