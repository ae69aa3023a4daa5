"""Whether a run ends on its way: its steps together do not reach as far as the weights are large, and its loss falls to the very end.

What a run has learned it holds in how far its weights are from where they began. Ten tasks (tables, images, text, series; SGD with and without momentum, Adam, AdamW) were trained at rates from a thousandth to a
hundred times a good one, and for a fiftieth to all of the epochs they need: where they had learned what there was to learn, their steps, laid end to end, were nearly always longer than the weights are large (1.3 times and more in 61 healthy twins of the ward; down to 0.5 with one sample per step, whose gradients vanish once they are answered, and once 0.6 on noisy data). A run that is below 1
and whose loss still falls has steps that are too small. (Or too few of a healthy size; but three healthy twins of the ward stop there as well, so nothing is said of those.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sickbay.facts import Loss
from sickbay.record.reader import Record
from sickbay.signs.curves import Curve, curve, end, rank_correlation, start
from sickbay.signs.losses import judged_losses, supervised
from sickbay.signs.update_ratio_low import reach

HEALTHY = 1e-3
"""Of the weights' size, per step (Karpathy; CS231n): below it steps are small."""
AS_LARGE = 1.0
MINIMUM_STEPS, FEW = 6, 20
IN_ORDER, MOST = -0.9, 0.5
"""Of fewer than twenty steps the noise is not known: they have to fall one after the other (rank correlation with time), and half of the loss has to be left."""
WINS, ERRORS = 0.03, 4.0
"""What the last quarter still wins of its level (and a quarter of that from its first half to its second), beyond its noise: 4 % and more in the runs above, at rates that are a tenth to a thousandth of a good one."""
BARELY, AT_FIRST = 0.3, 0.005
"""...or half a per cent, where the steps reach less than a third as far: many nets win next to nothing until they have found a direction."""
LEFT = 0.15
"""Of the first loss. What has come below has learned most of what there is."""
LAZY = 0.1
"""Very wide nets and large first weights learn by moves of a few hundredths of their size: there half of the loss has to be left."""
SOLVED = 0.95
EVALUATIONS, AT_THE_END = 8, 0.9
"""Four evaluations in a row, each below the one before, up to the end of the run."""
FARTHER, STEEP, MORE_LEFT = 3.0, 0.2, 0.2
"""Steps that reach up to three times as far are told only where the last quarter wins a fifth of its level and a fifth of the first loss is left."""


@dataclass(frozen=True)
class Unfinished:
    """A run that ends on its way."""

    curve: Curve
    ratio: float
    """What a step changes of the weights, as a share of their size."""
    whole_run: float
    """...and all of them, if they all pointed the same way."""
    won: float
    """By how much the last quarter of the run lies below the one before."""


def unfinished(record: Record) -> Unfinished | None:
    """What shows that the run ends on its way; None where it does not, or where its loss is of a kind that need not fall."""
    ratio, whole_run = reach(record)
    curves = [c for c, loss in judged_losses(record) if len(c) >= MINIMUM_STEPS and (supervised(loss) or _by_hand(record, loss))]
    if not 0 < whole_run < FARTHER or not curves or _answers(record) or not all(_goes_down(record, c, whole_run) for c in curves):
        return None
    longest = max(curves, key=len)
    return Unfinished(longest, ratio, whole_run, _last_win(longest))


def _by_hand(record: Record, loss: Loss | None) -> bool:
    """A loss that the script writes itself (`((model(x) - y) ** 2).mean()`), the only one, of a run that collects no reward."""
    return loss is not None and not loss.heads and len(record.facts.losses) == 1 and not len(record.series("reward"))


def _answers(record: Record) -> bool:
    """Nearly every answer in training is right: what the loss still wins is confidence."""
    right = record.series("accuracy/train").values
    return len(right) > 0 and float(np.mean(right[-max(3, len(right) // 10) :])) > SOLVED


def _goes_down(record: Record, c: Curve, whole_run: float) -> bool:
    """Training falls to the very end; or validation, always on the same samples, does with every one of its last evaluations, where single batches differ too much to show it."""
    if _falls_to_the_end(c, whole_run):
        return True
    if whole_run > AS_LARGE or c.nonfinite or _last_win(c) <= 0 or end(c).value < LEFT * start(c).value:
        return False
    evaluated = [e for s in record.series_like("loss/eval") if len(e := curve(s)) >= EVALUATIONS and e.nonfinite == 0 and float(np.min(e.values)) > 0]
    shown = [e for e in evaluated if e.steps[-1] >= AT_THE_END * record.facts.run.steps and np.all(np.diff(e.values[len(e) // 2 :]) < 0)]
    return any(_falls_to_the_end(replace(e, noise=0.0), whole_run) for e in shown)


def _falls_to_the_end(c: Curve, whole_run: float) -> bool:
    """The last quarter lies clearly below the one before, and its own second half below its first: it has not stopped on the way."""
    if c.nonfinite or (len(c) < FEW and not _in_order(c)):
        return False
    last = np.array_split(c.values, 4)[-1]
    level, error = float(np.mean(last)), c.noise * math.sqrt(2 / len(last))
    first_half, second_half = (float(np.mean(part)) for part in np.array_split(last, 2))
    wins, left = (STEEP, MORE_LEFT) if whole_run > AS_LARGE else (AT_FIRST if whole_run < BARELY else WINS, LEFT)
    left = MOST if whole_run < LAZY else left
    goes_on = first_half - second_half > wins / 4 * level
    return goes_on and _last_win(c) > max(wins * level, ERRORS * error) and end(c).value > left * start(c).value


def _in_order(c: Curve) -> bool:
    return rank_correlation(c.values) < IN_ORDER and float(c.values[-1]) > MOST * float(c.values[0])


def _last_win(c: Curve) -> float:
    before, last = np.array_split(c.values, 4)[2:]
    return float(np.mean(before) - np.mean(last))
