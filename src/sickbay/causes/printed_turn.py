"""Overfitting of a loss that is only printed, on a scale of its own.

A partial likelihood over a whole cohort, a likelihood less a constant: neither is the loss of a batch, and both may be below zero, so that no share of them means anything. But the script prints its training
loss and its validation loss side by side, on one scale. What is asked is asked of differences: both began together, training went on falling, and validation rose by more than half of what training won.
"""

from __future__ import annotations

import numpy as np

from sickbay.causes.evidence import strong
from sickbay.nouns import Evidence, Series
from sickbay.record.printed import side_by_side
from sickbay.record.reader import Record
from sickbay.signs.curves import Curve, noise, rank_correlation, start
from sickbay.signs.losses import training_losses
from sickbay.signs.validation import smoothed

EVALUATIONS, SINCE = 8, 4
"""Fewer have no trend that chance could not give; at least so many (and a quarter of all) come after the turn."""
FOLLOWS = 0.7
"""Rank correlation of what is printed for training with the losses of its batches since the line before: both measure the same, and lower is better."""
TOGETHER = 0.25
"""At the first line both are as near as a quarter of all that training wins afterwards: they are on one scale, and what had been learned until then held for both."""
LEARNED = 0.1
"""...and training had won a tenth of all that it wins by then: validation is no worse, so that it has generalised."""
RISES, NOISES, STEADY = 0.5, 3.0, 0.6
"""Validation gives back half of what training wins after the turn, and three times the noise; rank correlation with time since the turn (as in `signs/val_rising.py`)."""
GOES_ON = 0.2
"""Training still wins a fifth of all after the turn."""


def printed_turn(record: Record) -> Evidence | None:
    """Validation as printed rises while training as printed falls; None where a validation loss was observed, which tells more."""
    pair = side_by_side(record.families) if record.facts.log is None and not record.series_like("loss/eval") else None
    observed = max((c for c, _ in training_losses(record)), key=len, default=None)
    if pair is None or observed is None or len(pair[0]) < EVALUATIONS or not _the_same(pair[0], observed):
        return None
    steps, train, validation = pair[0].steps, smoothed(pair[0].values), smoothed(pair[1].values)
    turn = int(np.argmin(validation))
    wins, goes_on = float(train[0] - train[-1]), float(train[turn] - train[-1])
    rise, since = float(validation[-1] - validation[turn]), pair[1].values[turn:]
    if wins <= 0 or abs(pair[1].values[0] - pair[0].values[0]) > TOGETHER * wins or not _had_learned(observed, int(steps[0])):
        return None
    lasting = len(since) > max(SINCE, len(steps) // 4) and rank_correlation(since) > STEADY
    if not lasting or goes_on < GOES_ON * wins or rise < max(RISES * goes_on, NOISES * noise(since)):
        return None
    return strong(
        f"validation loss, as the script prints it, rises from {validation[turn]:.4g} at step {steps[turn]} to {validation[-1]:.4g}, while training loss, printed beside it, falls from {train[turn]:.4g} to {train[-1]:.4g}",
        steps=(int(steps[turn]), int(steps[-1])),
        best_step=float(steps[turn]),
    )


def _the_same(printed: Series, observed: Curve) -> bool:
    edges = np.searchsorted(observed.steps, printed.steps)
    parts = [observed.values[low:high] for low, high in zip(np.r_[0, edges[:-1]], edges, strict=True)]
    if any(len(p) == 0 for p in parts):
        return False
    means, shown = np.array([p.mean() for p in parts]), printed.values
    ranks = [np.argsort(np.argsort(x)).astype(float) for x in (means, shown)]
    return float(np.ptp(shown)) > 0 and float(np.corrcoef(ranks[0], ranks[1])[0, 1]) > FOLLOWS


def _had_learned(observed: Curve, first: int) -> bool:
    """Whether the batches' loss had come down before the first line."""
    then = observed.values[observed.steps < first]
    begun, last = start(observed).value, float(np.mean(observed.values[-max(3, len(observed) // 10) :]))
    return len(then) > 0 and begun - float(np.median(then[-max(3, len(then) // 4) :])) > LEARNED * (begun - last) > 0
