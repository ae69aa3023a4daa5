"""Logs in which validation has no loss, only a measure beside the training loss: an accuracy, a mAP, an error rate.

How far such a measure is from the training loss says nothing. That it loses much of what it had won, while the training loss falls on, is what a person
sees as overfitting.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sickbay.record.reader import Record
from sickbay.signs.curves import MEDIAN_ERROR, Curve, Values, curve
from sickbay.signs.losses import adversarial, judged_losses

MEASURES = (("accuracy/eval", "accuracy", -1.0), ("score/eval", "score", -1.0), ("error/eval", "error", 1.0))
"""Each with its sign: times that, less is better."""
FEWEST, LEAST, PART = 8, 3, 6
"""Values it takes; a level is the median of a sixth of them, three at least."""
LOST, TWICE = 0.25, 0.05
"""Of what was won since the first value; an error that is twice its best has lost enough with less."""
WORSE = {"accuracy": 0.05, "score": 0.05, "error": 0.2}
"""Of the best level: an accuracy from 0.84 to 0.80, an error from 0.10 to 0.12."""
ERRORS = 4.0
"""Standard errors of the difference of two such medians."""
FALLS_ON = 0.9


@dataclass(frozen=True)
class Turn:
    """A measure of validation that got worse again."""

    word: str
    best: float
    step: int
    last: float


def turned_score(record: Record) -> Turn | None:
    """The measure that lost a quarter of what it had won, beyond its noise, while training went on to fall."""
    if record.facts.log is None or adversarial(record) or len(record.series("reward")) or any(len(s) for s in record.series_like("loss/eval")):
        return None
    train = [c for c, _ in judged_losses(record)][:1]
    for name, word, sign in MEASURES if train else ():
        if (turn := _turn(curve(record.series(name)), word, sign)) is not None and _fell_since(train[0], turn.step):
            return turn
    return None


def _turn(c: Curve, word: str, sign: float) -> Turn | None:
    if len(c) < FEWEST or c.nonfinite:
        return None
    width = max(LEAST, len(c) // PART)
    levels = np.median(np.lib.stride_tricks.sliding_window_view(sign * c.values, width), axis=-1)
    at = int(np.argmin(levels))
    best, last = float(levels[at]), float(levels[-1])
    rise = last - best
    won = float(sign * c.values[0]) - best
    lost = TWICE if word == "error" and rise > best else LOST
    error = MEDIAN_ERROR * c.noise * np.sqrt(2 / width)
    clear = rise > ERRORS * error and rise > WORSE[word] * abs(best) and rise > lost * won
    return Turn(word, sign * best, int(c.steps[at + width // 2]), sign * last) if clear and float(sign * c.values[-1]) > best else None


def _fell_since(train: Curve, step: int) -> bool:
    since = train.values[train.steps >= step]
    width = max(LEAST, len(since) // PART)
    return len(since) >= 2 * LEAST and _level(since[-width:]) < FALLS_ON * _level(since[:width])


def _level(values: Values) -> float:
    return float(np.median(values))
