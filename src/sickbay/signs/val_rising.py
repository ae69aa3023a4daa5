"""Validation loss turned and rises, beyond its own noise and for a lasting part of the run, while training loss keeps falling."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.curves import Curve, drift, noise, rank_correlation
from sickbay.signs.registry import share, sign
from sickbay.signs.validation import Comparison, comparisons, smoothed

# The rise has to matter: 12 % of the best value and 6 % of what was ever won. Near-perfect classifiers grow more confident
# and their loss creeps up by one or two per cent of what they learned; that is not an illness.
RISE_OF_BEST = 0.12
RISE_OF_FALL = 0.06
NOISES = 4.0
STEADY = 0.6
"""Rank correlation with time after the turn; noise alone gives about 0, and 0.6 by chance in few short stretches only."""
LASTING = 0.25
"""The best evaluation lies before the last quarter of the run: with early stopping and patience the turn is short."""
FEW = 6
"""So few evaluations of a log are taken as they are; a rise from one to the next, without exception, is then a rise."""
TRAIN_FALLS = 0.1
"""Training loss fell by a further tenth after the turn; if it did not, the model drifts, it does not memorise."""
FALLS_ON, ERRORS = 0.05, 4.0
"""In a log half of that will do if its line since the turn falls beyond the noise: a penalty or label smoothing in the loss keeps it from falling by shares of itself."""


# In a log, whose values are means, a rise of a twentieth is one too if it goes on over four evaluations and more without much back and forth,
# and takes back a quarter of what training wins in the meantime: of two smooth curves the eye says so.
SMALL_RISE = 0.05
OF_TRAINING = 0.25
UNBROKEN = 0.8
FAR_RISE = 0.5
"""By half and more, to twice the training loss and more: then training need not fall on, as long as it does not rise by a quarter as much itself."""
STEADY_RISE, A_LITTLE = 0.25, 0.02
"""By a quarter and more, over eight evaluations without much back and forth: then it is enough that training ends 2 % lower than it was (a loss may have a floor far above zero)."""
FAIR_RISE = 0.08
"""Of a twelfth, over eight evaluations and more, it may go back and forth as much as a large one."""
FEWEST = 4
LONG = 8
BELOW = 0.5
"""Of validation's best: a training loss that low, and not rising, has little left to fall by."""
KEPT_ABOVE = 0.4
"""In 45,000 simulated logs of 6 to 40 evaluations with noise of a tenth to a half of their level, fewer than 2 in 1,000 of those that fall look so, and 4 in 100 of those that stand."""
# ...as it is in a run that was watched, where the training samples are known by heart.
BY_HEART, KEPT = 0.1, 0.5


# Of a few noisy evaluations, in a log that tells accuracies too: from the best of them on validation loss rises by a twentieth, its accuracy falls by two points in
# a hundred, and training falls by a quarter to below two thirds of it. Each alone is within the noise of a small set; all three of them are not.
FALLS_BY, QUARTER, TWO_THIRDS = 0.02, 0.75, 2 / 3


@sign("val-rising")
def val_rising(record: Record) -> Iterator[Sign]:
    logged = record.facts.log is not None
    for c in comparisons(record):
        few = logged and len(c.validation) <= FEW
        values = c.validation.values if few else smoothed(c.validation.values)
        turn = int(np.argmin(values))
        best, last = float(values[turn]), float(values[-1] if few else np.median(values[-max(2, len(values) // 6) :]))
        rise, won = last - best, c.begin - best
        clear = _beyond_noise(c.validation, turn, rise) or (few and bool(np.all(np.diff(values[turn:]) > 0))) or (logged and _stays_above(c))
        substantial = rise > RISE_OF_BEST * best and rise > RISE_OF_FALL * won and clear
        lasting = len(values) - 1 - turn >= max(min(3, len(values) // 2 + 1) if few else 3, LASTING * len(values))
        train_from, train_to = float(c.train_level[turn]), float(np.median(c.train_level[-2:]))
        apart = logged and rise > FAR_RISE * best and train_to < BELOW * last and train_to - train_from < OF_TRAINING * rise
        apart = apart or (logged and rise > STEADY_RISE * best and train_to < (1 - A_LITTLE) * train_from and _unbroken(c.validation.values[turn:]))
        if substantial and lasting and (apart or _falls_on(c, turn, train_from, train_to, logged=logged)):
            yield _sign(c, turn, best, last, won, (train_from, train_to))
        elif (small := _small_rise(c, logged=logged)) is not None and (logged or _by_heart(c)):
            yield small
        elif logged and (both := _both_worse(record, c)) is not None:
            yield both


def _both_worse(record: Record, c: Comparison) -> Sign | None:
    """Validation whose loss rises and whose accuracy falls from the best evaluation on, while training goes on falling."""
    right, values = record.series("accuracy/eval"), c.validation.values
    turn = int(np.argmin(values))
    best, last = float(values[turn]), float(np.median(values[-2:]))
    train = float(c.train_level[turn]), float(np.median(c.train_level[-2:]))
    if len(right) != len(values) or len(values) - 1 - turn < max(2, LASTING * len(values)) or last - best < SMALL_RISE * best or c.shift:
        return None
    whole = 100.0 if float(np.nanmax(right.values)) > 1 else 1.0
    worse = float(right.values[turn]) - float(np.median(right.values[-2:])) > FALLS_BY * whole
    if not worse or train[1] > QUARTER * train[0] or train[1] > TWO_THIRDS * last:
        return None
    found = _sign(c, turn, best, last, c.begin - best, train)
    return replace(found, numbers={**found.numbers, "steady": 1.0})


def _unbroken(since: np.ndarray) -> bool:
    return len(since) >= LONG and rank_correlation(since) > UNBROKEN


def _falls_on(c: Comparison, turn: int, before: float, after: float, *, logged: bool) -> bool:
    """Whether training goes on falling after validation has turned."""
    if after < (1 - TRAIN_FALLS) * before:
        return True
    if logged and after <= before and after < BELOW * float(np.min(c.validation.values)):
        return True
    since = c.train.values[c.train.steps >= c.validation.steps[turn]]
    down, error = drift(since, noise(since))
    return logged and len(since) >= LONG and after < (1 - FALLS_ON) * before and down > max(ERRORS * error, FALLS_ON * before)


def _small_rise(c: Comparison, *, logged: bool) -> Sign | None:
    """Validation that rises steadily from its very best evaluation, if by little, while training goes on falling."""
    values = c.validation.values
    turn = int(np.argmin(values))
    since, best, last = values[turn:], float(values[turn]), float(np.median(values[-2:]))
    train = float(c.train_level[turn]), float(np.median(c.train_level[-2:]))
    rise = last - best
    if rise <= 0 or len(since) < max(FEWEST, LASTING * len(values)) or rise < SMALL_RISE * best or not _falls_on(c, turn, *train, logged=logged):
        return None
    fair = logged and len(since) >= LONG and rise > max(FAIR_RISE * best, NOISES * noise(since))
    steady = STEADY if fair else UNBROKEN
    if rise < OF_TRAINING * (train[0] - train[1]) or rise < 3 * noise(since) or rank_correlation(since) < steady:
        return None
    found = _sign(c, turn, best, last, c.begin - best, train)
    return replace(found, numbers={**found.numbers, "steady": 1.0})


def _by_heart(c: Comparison) -> bool:
    """Training loss is next to nothing where validation has kept most of what it began with: then a small steady rise is no mere growth of confidence."""
    last = float(np.median(c.validation.values[-2:]))
    return float(np.median(c.train_level[-2:])) < BY_HEART * last and last > KEPT * c.begin


def _beyond_noise(validation: Curve, turn: int, rise: float) -> bool:
    """Four times the noise of the whole curve; or, as the descent inflates that, three times the noise since the turn if it rises steadily."""
    since = validation.values[turn:]
    return rise > NOISES * validation.noise or (rise > 3 * noise(since) and rank_correlation(since) > STEADY)


def _stays_above(c: Comparison) -> bool:
    """Evaluations that go up and down by as much as they rise: none of the last half comes back near the two lowest, and training is far below."""
    values = c.validation.values
    tail = values[-max(FEWEST, len(values) // 2) :]
    apart = float(np.median(c.train_level[-2:])) < BELOW * float(np.min(tail))
    above = float(np.min(tail)) > (1 + KEPT_ABOVE) * float(np.mean(np.sort(values)[:2]))
    return len(values) > len(tail) and apart and above and rank_correlation(values) > STEADY


def _sign(c: Comparison, turn: int, best: float, last: float, won: float, train: tuple[float, float]) -> Sign:
    steps = c.validation.steps
    return Sign(
        name="val-rising",
        where=c.validation.name,
        steps=(int(steps[turn]), int(steps[-1])),
        strength=share((last - best) / max(best, 1e-12), RISE_OF_BEST, 2.0),
        numbers={
            "best": best,
            "best_step": float(steps[turn]),
            "end": last,
            "won": won,
            "train_then": train[0],
            "train_end": train[1],
            "turn": float(turn),
            "evaluations": float(len(steps)),
            "first": float(c.validation.values[0]),
            "train_first": float(c.train_level[0]),
        }
        | ({"shift": c.shift} if c.shift else {}),
        text=f"validation loss rises from {best - c.shift:.4g} at step {steps[turn]} to {last - c.shift:.4g} while training loss falls from {train[0] - c.shift:.4g} to {train[1] - c.shift:.4g}",
    )
