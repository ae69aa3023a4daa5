"""Training stops while the loss is still falling fast.

## What happens

The script is right, and ends too early: one epoch where twenty are needed, a few dozen steps left over from a test. The loss has come down by a
part of what it could, on training and validation data alike, and was on its way when the run ended.

## How we know

The second half of the run lowered the loss clearly and nearly as much as the first, or more: the curve has not begun to level off. If the
falls go on to shrink from half to half as they did, as many steps again win at least three tenths of the loss that is left, also at the
lower end of what the noise leaves open. More than half of the first loss is still there; the run had at most two epochs or 150 steps; the learning
rate was not brought down (a schedule that has ended has ended on purpose) and the steps are of a healthy size.

A run of one or two passes over its data is told too if its loss has come farther, but goes on losing the same share of itself, and validation with it; or if validation, which has less noise than
single batches, falls to its last evaluation nearly as fast as it did at first (of two to four evaluations the last is three tenths below the one before; in a run of at most 150 steps a tenth, where
the falls shrink so slowly that as many evaluations again would win a fifth; of at most three passes the last evaluation wins three tenths of the loss, and a larger share than the one before). Of a run of at most a hundred steps and three passes it is enough that training and every evaluation fall to the end.

A run of three to six passes is told if validation fell with each, by a tenth of itself at least with the last, training with it, while a fifth of the untrained model's loss is left; and if as many passes again would
win three tenths of it, should the falls go on to shrink as they did (`causes/unabated.py`).

Of any length is a run that leaves its loop over epochs early (early stopping) though validation has fallen by some per cent with every evaluation up to the last.

## Looks like it but is not

- Most runs end while the loss still creeps down: that is no illness. Only a run that stops in the steep part is told.
- A straight, slow descent with tiny steps: the learning rate is too low.
- Cosine and other schedules that are over; fine-tuning of loaded weights; validation that has turned.
- A loss that has halved already; a run of many epochs.

## Fix

Train longer: several times as many steps, until the loss levels off or validation turns.

## References

- Goodfellow, Bengio, Courville 2016, section 5.2 (underfitting). Hoffmann et al. 2022 (how much training a model of a given size is worth).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from sickbay.causes.evidence import hint, strong
from sickbay.causes.parameters import mostly_loaded
from sickbay.causes.registry import cause
from sickbay.causes.stopped import AT_THE_END, EVALUATIONS, left_early
from sickbay.causes.unabated import Outlook, unabated
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.script.fixing import mend
from sickbay.script.length import length, length_place
from sickbay.script.written import changed
from sickbay.signs import Signs
from sickbay.signs.curves import Curve, curve, drift, fell, noise, start
from sickbay.signs.losses import enough, judged_losses

MINIMUM_STEPS = 24
REMAINS = 0.5
SHORT_STEPS, SHORT_EPOCHS = 150, 2
"""Only runs that are short by any measure: one of many epochs has been given its time, and most healthy ones still fall when it is over."""
ROWS_SEEN = 256
"""Steps whose rows are all looked at (see observe/samples.py)."""
GAIN = 0.3
"""What as many steps again would win at least, as a share of the loss at the end."""
SHRINKS = 0.6
"""The second half wins at least six tenths of what the first won: a curve that levels off does not."""
ERRORS = 6.0
STEADILY, SHARE_LOST, STILL_THERE = 0.8, 0.25, 0.1
"""In logarithms: the second half wins as much as the first (eight tenths of it), a fifth of the loss at least; a tenth of the first loss is left. Only for runs of one or two passes over the data:
of 35 short runs of the ward, two healthy ones of five epochs end like that."""
STEADY_ERRORS = 4.0
AS_FAST, MOST_OF_IT = (0.8, 0.12), (0.6, 0.3)
"""Of validation, whose samples are always the same, so that it has little noise: in logarithms the second half wins eight tenths of what the first won and 11 %, or six tenths and a quarter of the loss."""
LAST_PASS, LEFT = 0.7, 0.2
"""...where there are too few evaluations for that: the last one is three tenths below the one before, and a fifth of the untrained model's loss is left."""
FEWEST, LAST_SEEN, AT_LAST, IN_LAST_QUARTER, AHEAD = 3, 0.8, 0.1, 0.08, 0.22
"""...of three or four evaluations, all in logarithms: the last one is a tenth below the one before, training loses 8 % in its last quarter, and if the falls go on to shrink as they did, as many
evaluations again win 0.22, a fifth of the loss. The last one comes after eight tenths of the run: what is evaluated every so many steps seldom ends with it."""
HARDLY_BEGUN, BEGUN_PASSES, BEGUN_ERRORS, SLOWS_TO, LAST_WINS, SOLVED = 100, 3, 4.0, 0.4, 0.02, 0.9
"""Of a run of at most a hundred steps and three passes, which answers less than nine tenths right: the last of three evaluations and more still wins 2 % of the loss and four tenths of what the one before
won, and training is lower in its last third than in the one before, beyond its noise."""
TO_THE_END = 0.5
"""...and the last evaluation still wins half of what those of the second half do on average."""
FALLS = 0.9
RATE_KEPT = 0.5
LONGER = 10
OTHERWISE = (
    "update-ratio-low",
    "update-ratio-high",
    "diverging-loss",
    "oscillating-loss",
    "nonfinite-loss",
    "val-rising",
    "train-val-gap",
    "val-flat-from-start",
    "small-gradients",
)
AT_FIRST = ("update-ratio-high",)
"""...which the first dozens of steps of any run may show, and more there are not in the shortest."""


@cause(
    code="H412",
    level="hyperparameters",
    title="training stops while the loss still falls fast",
    why="The model has learned a part of what it could: the same run, only longer, would be far better.",
    explains={"slow-descent", "chance-level"},
    cure=None,
)
def underfitting_short_training(record: Record, signs: Signs) -> Iterator[Evidence]:
    run = record.facts.run
    few_passes = 0 < passes(record) <= SHORT_EPOCHS
    gaining = _gains_speed(record)
    if (stopped := left_early(record)) is not None and not run.shortened and not signs.has(*OTHERWISE) and not _schedule_ended(record):
        yield stopped
        return
    begun = (
        run.steps <= HARDLY_BEGUN
        and 0 < passes(record) <= BEGUN_PASSES
        and record.facts.log is None
        and not signs.has(*(s for s in OTHERWISE if s not in AT_FIRST))
    )
    if run.shortened or mostly_loaded(record) or _schedule_ended(record) or (signs.has(*OTHERWISE) and not begun):
        return
    curves = [c for c, _ in judged_losses(record)]
    if gaining[0] is None and curves:
        gaining = unabated(record, max(curves, key=len))
    if not (run.steps <= SHORT_STEPS or few_passes or gaining[0] is not None):
        return
    for c in curves:
        found = outlook(c) if len(c) >= enough(record, MINIMUM_STEPS, 12) and c.nonfinite == 0 else None
        what = f"the loss fell from {start(c).value:.3g}"
        watched = few_passes and record.facts.log is None and c.nonfinite == 0
        if found is None and watched and _validation_falls(record):
            found = steady(c)
        if found is None and watched and fell(c):
            found, what = by_validation(record)
            if found is None:
                found, what = by_last_evaluation(record, start(c).value)
            if found is None and run.steps <= SHORT_STEPS:
                found, what = by_few_evaluations(record, c)
        if found is None and fell(c) and c.nonfinite == 0:
            found, what = gaining
        if found is None and begun and fell(c):
            found, what = hardly_begun(record, c)
        if found is None or _validation_stands(record):
            continue
        say = strong if record.facts.log is None else hint
        yield say(
            f"{what} to {found.loss:.3g} and was not levelling off when the run ended after {len(c)} steps; as many again "
            f"would lower it by another {found.gain:.2g} ({found.low:.2g} to {found.high:.2g})",
            length_place(record),
            (int(c.steps[3 * len(c) // 4]), int(c.steps[-1])),
            loss=found.loss,
            gain=found.gain,
            low=found.low,
        )
        return


def outlook(c: Curve) -> Outlook | None:
    """What is to be won by going on, if the curve ends in its steep part; None otherwise."""
    half = len(c) // 2
    (before, _), (fall, error) = drift(c.values[:half], c.noise), drift(c.values[half:], c.noise)
    last = float(np.mean(c.values[half:])) - fall / 2
    if fall < ERRORS * error or last < REMAINS * start(c).value or last <= 0:
        return None
    shrink = min(1.0, fall / before) if before > 0 else 1.0
    if shrink < SHRINKS:
        return None
    ahead = shrink + shrink**2  # as many steps again are two halves
    gain, low, high = (max(0.0, min(last, f * ahead)) for f in (fall, fall - 2 * error, fall + 2 * error))
    return Outlook(last, gain, low, high) if low > GAIN * last else None


def steady(c: Curve) -> Outlook | None:
    """The same for a loss that loses the same share again and again: it has come far already, and goes on as fast as ever."""
    half = len(c) // 2
    if len(c) < MINIMUM_STEPS or float(np.min(c.values)) <= 0:
        return None
    logs = np.log(c.values)
    spread = noise(logs)
    (before, _), (fall, error) = drift(logs[:half], spread), drift(logs[half:], spread)
    last = math.exp(float(np.mean(logs[half:])) - fall / 2)
    if fall < max(STEADILY * before, SHARE_LOST, STEADY_ERRORS * error) or last < STILL_THERE * start(c).value:
        return None
    gain, low, high = (last * (1 - math.exp(-2 * f)) for f in (fall, max(fall - 2 * error, 0.0), fall + 2 * error))
    return Outlook(last, gain, low, high)


def by_validation(record: Record) -> tuple[Outlook | None, str]:
    """The same, seen by validation, where single batches are too noisy to show it; with the words for it."""
    for c in (curve(s) for s in record.series_like("loss/eval")):
        if len(c) < EVALUATIONS or c.nonfinite or float(np.min(c.values)) <= 0 or c.steps[-1] < AT_THE_END * record.facts.run.steps:
            continue
        logs, half = np.log(c.values), len(c) // 2
        before, fall, steps = float(logs[0] - logs[half]), float(logs[half] - logs[-1]), np.diff(logs[half:])
        fast = any(fall > share * before and fall > least for share, least in (AS_FAST, MOST_OF_IT))
        if not fast or np.any(np.diff(logs) >= 0) or -steps[-1] < TO_THE_END * fall / len(steps) or c.values[-1] < STILL_THERE * c.values[0]:
            continue
        last, ahead = float(c.values[-1]), fall * (1 + min(1.0, fall / before if before > 0 else 1.0))
        gain, low, high = (last * (1 - math.exp(-x)) for x in (ahead, ahead / 2, 1.5 * ahead))
        return Outlook(last, gain, low, high), f"validation loss fell from {c.values[0]:.3g}"
    return None, ""


def by_last_evaluation(record: Record, first: float) -> tuple[Outlook | None, str]:
    """The same where there are only a few evaluations: the last pass over the data has won more than a quarter of the loss, and much of the untrained model's is left."""
    for c in (curve(s) for s in record.series_like("loss/eval")):
        if not 2 <= len(c) < EVALUATIONS or c.nonfinite or c.steps[-1] < AT_THE_END * record.facts.run.steps:
            continue
        before, last = float(c.values[-2]), float(c.values[-1])
        if LEFT * first < last < LAST_PASS * before:
            gain = last * (1 - last / before)
            return Outlook(last, gain, gain / 2, 1.5 * gain), f"validation loss fell from {before:.3g}, one pass before,"
    return None, ""


def _gains_speed(record: Record) -> tuple[Outlook | None, str]:
    """The same of three passes, each of which wins a larger share of the loss than the one before: nothing levels off."""
    if not 0 < passes(record) <= BEGUN_PASSES or record.facts.log is not None:
        return None, ""
    for c in (curve(s) for s in record.series_like("loss/eval")):
        if not FEWEST <= len(c) < EVALUATIONS or c.nonfinite or c.steps[-1] < AT_THE_END * record.facts.run.steps or float(np.min(c.values)) <= 0:
            continue
        falls = -np.diff(np.log(c.values))
        untrained = max((start(t).value for t, _ in judged_losses(record)), default=0.0)
        last = float(c.values[-1])
        if np.all(falls > 0) and np.all(np.diff(falls) > 0) and last < LAST_PASS * c.values[-2] and last > STILL_THERE * untrained > 0:
            gain, low, high = (last * (1 - math.exp(-x)) for x in (falls[-1], falls[-1] / 2, 1.5 * falls[-1]))
            return Outlook(last, gain, low, high), f"validation loss fell from {c.values[-2]:.3g}, one evaluation before,"
    return None, ""


def by_few_evaluations(record: Record, train: Curve) -> tuple[Outlook | None, str]:
    """The same of a run that is short by both measures: each of its few evaluations wins less than the one before, but so little less that as many again win a fifth of what is left."""
    logs = np.log(train.values) if float(np.min(train.values)) > 0 else np.zeros(0)
    falling, error = drift(logs[-(len(logs) // 4) :], noise(logs))
    for c in (curve(s) for s in record.series_like("loss/eval")):
        if not FEWEST <= len(c) < EVALUATIONS or c.nonfinite or c.steps[-1] < LAST_SEEN * record.facts.run.steps or float(np.min(c.values)) <= 0:
            continue
        falls = -np.diff(np.log(c.values))
        if (
            np.any(falls <= 0)
            or falls[-1] < AT_LAST
            or falling < max(IN_LAST_QUARTER, STEADY_ERRORS * error)
            or c.values[-1] < STILL_THERE * c.values[0]
        ):
            continue
        shrink = min(1.0, float(falls[-1] / falls[0]) ** (1 / (len(falls) - 1)))
        ahead = float(falls[-1]) * sum(shrink**k for k in range(1, len(c) + 1))
        if ahead > AHEAD:
            last = float(c.values[-1])
            gain, low, high = (last * (1 - math.exp(-x)) for x in (ahead, ahead / 2, 1.5 * ahead))
            return Outlook(last, gain, low, high), f"validation loss fell from {c.values[0]:.3g}"
    return None, ""


def hardly_begun(record: Record, train: Curve) -> tuple[Outlook | None, str]:
    """The same of a run of a few dozen steps: whatever it trains, it has not been given its time while validation and training fall to the end."""
    before, last_third = np.array_split(train.values, 3)[1:]
    falling, error = float(before.mean() - last_third.mean()), train.noise * math.sqrt(2 / max(len(last_third), 1))
    known = [float(s.values[-1]) for s in record.series_like("accuracy/eval") if len(s)]
    if falling < BEGUN_ERRORS * error or max(known, default=0.0) > SOLVED:
        return None, ""
    for c in (curve(s) for s in record.series_like("loss/eval")):
        falls = -np.diff(c.values)
        if len(c) < FEWEST or c.nonfinite or c.steps[-1] < LAST_SEEN * record.facts.run.steps or np.any(falls <= 0):
            continue
        last, shrink = float(c.values[-1]), min(1.0, float(falls[-1] / falls[-2]))
        if shrink > SLOWS_TO and falls[-1] > LAST_WINS * abs(last):
            gain = float(falls[-1]) * sum(shrink**k for k in range(1, len(c) + 1))
            return Outlook(last, gain, gain / 2, 1.5 * gain), f"validation loss fell from {c.values[0]:.3g}"
    return None, ""


def passes(record: Record) -> int:
    """Times that training went through its data: as the loaders tell, else by the rows that came again."""
    run = record.facts.run
    if run.epochs or run.steps > ROWS_SEEN:  # of long runs not every row is looked at
        return run.epochs
    return max((round(e.train_rows / e.train_distinct) for e in record.facts.evaluation_data if e.train_distinct), default=0)


def _validation_falls(record: Record) -> bool:
    """Validation is seen, and its last value is its best by a clear margin."""
    curves = [c for s in record.series_like("loss/eval") if len(c := curve(s)) >= 2]
    return any(float(c.values[-1]) < FALLS * float(np.median(c.values[:-1])) and float(c.values[-1]) <= float(np.min(c.values)) for c in curves)


def _schedule_ended(record: Record) -> bool:
    for series in record.series_like("lr"):
        values = series.values[np.isfinite(series.values)]
        if len(values) and float(values[-1]) < RATE_KEPT * float(np.max(values)):
            return True
    return False


def _validation_stands(record: Record) -> bool:
    """Whether validation, where there is any, has stopped to fall."""
    curves = [c for s in record.series_like("loss/eval") if len(c := curve(s)) >= 3]
    return bool(curves) and not any(float(c.values[-1]) < float(np.median(c.values[:-1])) for c in curves)


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    if any("planned" in e.numbers for e in evidence):
        return Fix("stop only when validation has not improved at all for several evaluations", "EarlyStopping(patience=5, min_delta=0.0)", "advice")
    found = length(record)
    value = found[1].value if found is not None else None
    more = str(int(value * LONGER)) if isinstance(value, (int, float)) else ""
    return mend(
        "train several times as long, until the loss levels off or validation turns",
        changed(found, more) if more else "",
        f"epochs = epochs * {LONGER}",
        "consent",
    )
