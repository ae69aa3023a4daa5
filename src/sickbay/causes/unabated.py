"""Whether a run of a few passes ends on its way down: validation and training still fall clearly with every pass over the data, and nothing tells of a floor.

Every run that has learned what there is wins less from pass to pass at its end. What another run of the same length would win is reckoned from the last passes: if each won a smaller share of the loss than the one before, falls go on to
shrink like that (by the faster of two measures of it); if the last won the larger share, nothing has begun to level off. Of 93 validation curves of healthy scripts and twins with two to eight passes many end with a fall of a
tenth and more, but then less than 0.16 of the untrained model's loss is left; where a fifth and more is left, the last pass won at most 0.08. Training alone does not tell: of 83 healthy scripts with three to six passes four
would be accused by their training loss (one of them learns its samples by heart).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sickbay.causes.epochs import went_through
from sickbay.record.reader import Record
from sickbay.signs.curves import Curve, curve, start

PASSES = (3, 6)
"""Two passes have one difference only; who makes more than half a dozen has given it its time."""
AT_LAST, AS_MUCH_AGAIN = 0.1, 0.35
"""In logarithms: the last pass wins a tenth of the loss, and as many passes again would win three tenths of it."""
LEFT = 0.2
"""Of the untrained model's loss, in training and validation: near a floor that is zero, shares of the loss mean nothing."""
SOLVED = 0.9
WINS, ERRORS = 0.5, 4.0
"""Training's last pass wins half as large a share, beyond its noise."""
EVEN = 0.25
"""Evaluations as far apart as that share of each other: else a longer pass wins more."""
AT_THE_END = 0.9


@dataclass(frozen=True)
class Outlook:
    """What another run of the same length would win."""

    loss: float
    gain: float
    low: float
    high: float


def unabated(record: Record, train: Curve) -> tuple[Outlook | None, str]:
    """What as many passes again would win, with the words for it, of a run that ends while each pass still wins much."""
    count = went_through(record) or 0
    right = max((float(s.values[-1]) for s in record.series_like("accuracy/eval") if len(s)), default=0.0)
    if record.facts.log is not None or not PASSES[0] <= count <= PASSES[1] or right > SOLVED or train.nonfinite:
        return None, ""
    for c in (curve(s) for s in record.series_like("loss/eval")):
        if c.nonfinite or not len(c) or c.steps[-1] < AT_THE_END * record.facts.run.steps:
            continue
        values = _by_pass(c, count)
        falls = -np.diff(np.log(values))
        if len(falls) < 2 or np.any(falls <= 0) or falls[-1] < AT_LAST or (ahead := _ahead(falls)) < AS_MUCH_AGAIN:
            continue
        last, untrained = float(values[-1]), start(train).value
        if last > LEFT * max(untrained, float(values[0])) and _training_too(train, count, WINS * float(falls[-1])):
            gain, low, high = (last * (1 - math.exp(-x)) for x in (ahead, ahead / 2, 1.5 * ahead))
            won = ", ".join(f"{1 - math.exp(-f):.0%}" for f in falls)
            each = "pass over the data" if record.facts.run.epochs else "evaluation"
            return Outlook(last, gain, low, high), f"from each {each} to the next validation loss fell by {won}, from {values[0]:.3g}"
    return None, ""


def _ahead(falls: np.ndarray) -> float:
    """What as many passes again win, in logarithms, if falls shrink from pass to pass as they did."""
    shrink = float(falls[-1] / falls[-2])
    shrink = 1.0 if shrink >= 1 else min(shrink, float(falls[-1] / falls[0]) ** (1 / (len(falls) - 1)))
    return float(falls[-1]) * sum(shrink**k for k in range(1, len(falls) + 2))


def _by_pass(c: Curve, count: int) -> np.ndarray:
    """Validation at the end of each pass, or each time it was seen, if that is less often; nothing if that was at uneven times."""
    at = np.arange(len(c))
    if len(c) > count:
        ends = c.steps[-1] * np.arange(1, count + 1) / count
        at = np.array([int(np.argmin(np.abs(c.steps - e))) for e in ends])
    apart = np.diff(c.steps[at])
    even = len(apart) > 1 and float(np.ptp(apart)) <= EVEN * float(np.median(apart))
    return c.values[at] if even and float(np.min(c.values)) > 0 else np.ones(1)


def _training_too(train: Curve, count: int, share: float) -> bool:
    """Training's last pass lies that share below the one before, and a part of the untrained loss is left of it."""
    if len(train) < 2 * count:
        return False
    before, last = np.array_split(train.values, count)[-2:]
    level, error = float(last.mean()), train.noise * math.sqrt(2 / len(last))
    return level > LEFT * start(train).value and float(before.mean()) - level > max((math.exp(share) - 1) * level, ERRORS * error)
