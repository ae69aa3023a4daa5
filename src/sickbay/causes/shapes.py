"""The shape of a run's curves in a word, as a person who looks at the plot would say it. For logs, where curves are all there is.

| shape | what says it | verdict |
|---|---|---|
| `diverged-nan` | signs `nonfinite-loss`, `diverging-loss`, `nonfinite-gradient`, `raised-loss`; a loss that runs away below zero | sick (`lr-too-high`) if growth was seen, else undecided |
| `overfitting` | cause `overfitting` (signs `val-rising`, `train-val-gap`) | sick; undecided if validation alone was logged, or only a score of it |
| `oscillating` | signs `oscillating-loss`, `alternating-loss` | undecided |
| `flat-not-learning` | signs `flat-loss` (of validation where a log has nothing else), `chance-level` | undecided: a curve does not say why |
| `spikes` | sign `loss-spikes` | undecided |
| `train-val-mismatch` | sign `val-flat-from-start` | undecided |
| `plateau` | sign `early-plateau`; `flat-loss` in a log that begins in the middle of a run; nothing that is lower in the last third than in the first, in noise | undecided |
| `too-short` | fewer than three values, or a handful that ends no lower than it begins, or has lost half of what it had won | undecided |
| `unclear` | no training loss, or one that crosses zero and does not fall | undecided |
| `underfitting-short-training` | every loss falls to the end as fast as it did at first | undecided |
| `healthy` | none of these | healthy |

Beside the first, further shapes may hold: `underfitting-short-training` (still falling, if slower) and `validation-easier-than-training`
(validation below training all the way) are true of many healthy runs and stand second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sickbay.causes.scores import turned_score
from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs import Signs
from sickbay.signs.curves import Curve, curve, drift, end, fall, fell, trend_share
from sickbay.signs.losses import adversarial, judged_losses, training_losses

FEWEST = 3
STILL_FALLING = 0.3
ROSE = 0.2
HANDFUL, LOWER, KEPT = 8, 0.03, 0.5
FEWEST_OF_TWO_HALVES = 4
AS_FAST = 0.8
"""A curve that levels off falls by half as much in its second half, or less; a straight line by as much."""
AT_ONCE = 2.0
"""Times what the line of the first half falls: so much more is won where most of it is won at the very beginning."""
LATE = 3
"""Epochs, and times those between two values: a log that is written every few epochs begins late too."""
PASSED = 0.5
"""Of the steps that a log tells, where it has no epochs: so many and more had passed before its first."""
AWAY, FASTER = 100.0, 0.9
"""Times the first value, nine of ten values lower than the one before."""
REMAINS = 0.3
SCORES = ("accuracy/eval", "score/eval", "accuracy/train", "score/train")
"""Validation's go before training's."""
RATE_KEPT = 0.1
"""A schedule that has come down to a tenth was meant to end there."""
BY_SIGN = {
    "nonfinite-loss": "diverged-nan",
    "diverging-loss": "diverged-nan",
    "nonfinite-gradient": "diverged-nan",
    "overfitting": "overfitting",
    "oscillating-loss": "oscillating",
    "alternating-loss": "oscillating",
    "flat-loss": "flat-not-learning",
    "raised-loss": "diverged-nan",
    "chance-level": "flat-not-learning",
    "loss-spikes": "spikes",
    "val-flat-from-start": "train-val-mismatch",
    "early-plateau": "plateau",
}
"""In the order of how much they say: a run that diverged is not also flat, one that overfits may well have spiked before."""


def shapes(record: Record, signs: Signs, causes: Sequence[str]) -> tuple[str, ...]:
    """Every shape that the curves of a log have, the one that says most first."""
    found = [label for name, label in BY_SIGN.items() if signs.has(name) or (name == "overfitting" and name in causes)]
    if "flat-not-learning" in found and begun_before(record):
        found[found.index("flat-not-learning")] = "plateau"
    if not found:
        found = ["too-short" if _points(record) < FEWEST else _without_signs(record)]
    return tuple(dict.fromkeys([*found, *_besides(record, signs)]))


def begun_before(record: Record) -> bool:
    """The log begins in the middle of a run, several epochs (or, without any, many steps) after its first: what was learned before is not in it, so
    standing still is all that it shows."""
    log, epochs = record.facts.log, record.series("epoch")
    by_epoch = record.series("loss/train") if log is not None and log.axis == "epoch" else epochs
    numbers = np.unique(by_epoch.steps if by_epoch is not epochs else epochs.values[np.isfinite(epochs.values)])
    if len(numbers) < 2 and log is not None and log.axis == "step":
        steps = record.series("loss/train").steps
        return len(steps) > 1 and float(steps[0]) > PASSED * float(steps[-1] - steps[0]) and float(steps[0]) > LATE * float(np.max(np.diff(steps)))
    return len(numbers) > 1 and float(numbers[0]) >= LATE and float(numbers[0]) > LATE * float(np.max(np.diff(numbers)))


def _without_signs(record: Record) -> str:
    if without_bound(record):
        return "diverged-nan"
    if not _falls(record):
        return "overfitting" if turned_alone(record) else "unclear"
    if _hardly_moved(record):
        return "too-short"
    if stands_in_noise(record) is not None:
        return "plateau"
    if turned_score(record) is not None:
        return "overfitting"
    return "underfitting-short-training" if cut_short(record) else "healthy"


def cut_short(record: Record) -> bool:
    """Whether every loss falls to the very end as fast as it did at first, with most of it still there and a learning rate that was not brought down."""
    curves = [c for c, _ in judged_losses(record)] + _alone(record)
    if not curves or len(record.series("reward")) or any(len(c) < FEWEST_OF_TWO_HALVES or c.nonfinite for c in curves):
        return False
    rates = curve(record.series("lr")).values
    ended = len(rates) > 1 and float(rates[-1]) < RATE_KEPT * float(np.max(rates))
    return not ended and all(float(c.values[-1]) > REMAINS * float(c.values[0]) and _as_fast_as_ever(c) for c in curves)


def _as_fast_as_ever(c: Curve) -> bool:
    """The second half of the curve falls at least eight tenths as much as the first; of a few values each has to be lower than the one before."""
    half = int(np.searchsorted(c.steps, (c.steps[0] + c.steps[-1]) / 2))  # by steps: some logs have fewer and fewer values
    if len(c) < 2 * HANDFUL:
        half = min(max(half, 1), len(c) - 2)
        return _pace(c, half, -1) > AS_FAST * _pace(c, 0, half) > 0 and bool(np.all(np.diff(c.values[half:]) < 0))
    (first, _), (second, error) = drift(c.values[:half], c.noise), drift(c.values[half:], c.noise)
    begun, middle = float(np.mean(c.values[: max(3, len(c) // 20)])), float(np.median(c.values[half - HANDFUL // 2 :][:HANDFUL]))
    at_once = begun - middle > AT_ONCE * first  # a line through medians does not see what the first values alone win
    return not at_once and second > AS_FAST * first > 0 and second > 4 * error


def _pace(c: Curve, a: int, b: int) -> float:
    return float(c.values[a] - c.values[b]) / float(c.steps[b] - c.steps[a])


def told(signs: Signs) -> tuple[Sign, ...]:
    """The signs of a log, those behind its shape first."""
    order = list(BY_SIGN)
    return tuple(sorted(signs.all, key=lambda s: order.index(s.name) if s.name in order else len(order)))


def first_sign(signs: Signs) -> Sign | None:
    """The sign behind the first shape, if it is a sign that says it."""
    return next((s for name in BY_SIGN for s in signs.named(name)), None)


def without_bound(record: Record) -> bool:
    """A log whose training loss is below zero from its first value on, grows a hundredfold away from it, and does so faster and faster: what is
    bounded (a likelihood, a similarity, decibels) slows down. It is what a cross-entropy does with targets that are no probabilities."""
    if adversarial(record) or len(record.series("reward")):
        return False
    found = [c for c, _ in training_losses(record)][:1]
    return any(len(c) >= 2 * HANDFUL and c.nonfinite == 0 and _runs_away(c.values) for c in found)


def _runs_away(values: np.ndarray) -> bool:
    half = len(values) // 2
    below = float(np.max(values)) < 0 and float(values[-1]) < AWAY * float(values[0])
    return below and float(values[half] - values[-1]) > float(values[0] - values[half]) and bool(np.mean(np.diff(values) < 0) > FASTER)


def _falls(record: Record) -> bool:
    """Whether there is a training loss that goes down. One that ought to and does not would have been called flat: this asks the others."""
    if len(record.series("reward")):
        gained = curve(record.series("reward"))
        return len(gained) > 0 and drift(gained.values, gained.noise)[0] < 0
    if adversarial(record):
        return True
    curves = [c for c, _ in training_losses(record) if len(c)]
    if not curves:
        return any(map(_moved, _alone(record))) and turned_alone(record) is None
    judged = {c.name for c, _ in judged_losses(record)}
    return any(c.name in judged or fall(c)[0] > 4 * fall(c)[1] for c in curves)


def _hardly_moved(record: Record) -> bool:
    """A handful of values, of which neither training nor validation is lower at the end: what such a run will do has not been seen yet."""
    curves = [c for c, _ in judged_losses(record)]
    return bool(curves) and all(len(c) < HANDFUL for c in curves) and not any(map(_moved, [*curves, *_alone(record)]))


def _moved(c: Curve) -> bool:
    """It fell by 3 %, beyond its noise; of a handful of values, in which there is no telling noise from descent, the last is lower than the first and
    keeps half of what was won."""
    if len(c) >= HANDFUL:
        return fell(c, share=LOWER)
    first, last = float(c.values[0]), float(c.values[-1])
    return last < (1 - LOWER) * first and first - last >= KEPT * (first - float(np.min(c.values)))


def stands_in_noise(record: Record) -> Curve | None:
    """The training loss of a log in which no loss, of training or validation, is lower in its last third than in its first, and no score is higher. Too
    noisy to be called flat, but there is no descent in it that could be called health."""
    curves = [c for c, _ in judged_losses(record)]
    if not curves or len(curves[0]) < HANDFUL or any(_moved(c) or _won_at_last(c.values) for c in [*curves, *_alone(record)]):
        return None
    scores = [record.series(name) for name in SCORES]
    told = next(([s for s in pair if len(s)] for pair in (scores[:2], scores[2:]) if any(map(len, pair))), [])
    return None if any(_won_at_last(-curve(s).values) for s in told) else curves[0]


def _won_at_last(values: np.ndarray) -> bool:
    """Whether the last third is lower than the first, by 3 % of it."""
    third = len(values) // 3
    first, last = (float(np.median(part)) if third else 0.0 for part in (values[:third], values[-third:]))
    return first - last > LOWER * abs(first)


def turned_alone(record: Record) -> Curve | None:
    """Where a log has validation only: a loss that rose from its best by a fifth, beyond its noise. Without the training loss that is all that can be said."""
    if any(len(s) for s in record.series_like("loss/train")):
        return None
    return next((c for c in _alone(record) if _ends_above(c) or _only_rises(c)), None)


def _ends_above(c: Curve) -> bool:
    """Of a handful of values that go up and down, the last one has to be that high, too."""
    limit = (1 + ROSE) * float(np.min(c.values))
    return end(c).value > limit + 4 * c.noise and (len(c) >= HANDFUL or float(c.values[-1]) > limit)


def _only_rises(c: Curve) -> bool:
    """A handful of values, in which there is no telling noise: each after the best is higher than the one before, the last by a fifth and more."""
    since = c.values[int(np.argmin(c.values)) :]
    return len(c) < HANDFUL and len(since) >= FEWEST and bool(np.all(np.diff(since) > 0)) and float(since[-1]) > (1 + ROSE) * float(since[0])


def _alone(record: Record) -> list[Curve]:
    return [c for s in record.series_like("loss/eval") if len(c := curve(s)) >= FEWEST and c.nonfinite == 0 and float(np.min(c.values)) >= 0]


def _points(record: Record) -> int:
    epochs, log = record.series("epoch").values, record.facts.log
    tested = not any(len(s) for s in record.series_like("loss/train")) and log is not None and log.axis == "row"
    if tested and len(epochs) > 1 and float(np.ptp(epochs)) == 0.0:
        return 1  # tests of one state, or of several models: no curve
    return max(
        (len(record.series(name)) for name in ("loss/train", "loss/train@1", "loss/eval", "accuracy/train", "accuracy/eval", "reward")), default=0
    )


def _besides(record: Record, signs: Signs) -> Iterator[str]:
    if signs.has("val-below-train"):
        yield "validation-easier-than-training"
    curves = [c for c, _ in training_losses(record)] + [curve(s) for s in record.series_like("loss/eval")]
    if curves and all(len(c) >= FEWEST and c.nonfinite == 0 and trend_share(c) > STILL_FALLING for c in curves):
        yield "underfitting-short-training"
