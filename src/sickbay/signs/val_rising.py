"""Validation loss turned and rises, beyond its own noise and for a lasting part of the run, while training loss keeps falling."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.registry import share, sign
from sickbay.signs.validation import Comparison, comparisons, smoothed

# The rise has to matter: a quarter of the best value and a tenth of what was ever won. Near-perfect classifiers grow more
# confident and their loss creeps up by a few per cent of what they learned; that is not an illness.
RISE_OF_BEST = 0.25
RISE_OF_FALL = 0.10
NOISES = 5.0
LASTING = 0.25
"""The best evaluation lies before the last quarter of the run: with early stopping and patience the turn is short."""
TRAIN_FALLS = 0.1
"""Training loss fell by a further tenth after the turn; if it did not, the model drifts, it does not memorise."""


@sign("val-rising")
def val_rising(record: Record) -> Iterator[Sign]:
    for c in comparisons(record):
        values = smoothed(c.validation.values)
        turn = int(np.argmin(values))
        best, last = float(values[turn]), float(np.median(values[-max(2, len(values) // 6) :]))
        rise, won = last - best, c.begin - best
        substantial = rise > RISE_OF_BEST * best and rise > RISE_OF_FALL * won and rise > NOISES * c.validation.noise
        lasting = len(values) - 1 - turn >= max(3, LASTING * len(values))
        train_from, train_to = float(c.train_level[turn]), float(np.median(c.train_level[-2:]))
        if substantial and lasting and train_to < (1 - TRAIN_FALLS) * train_from:
            yield _sign(c, turn, best, last, won, (train_from, train_to))


def _sign(c: Comparison, turn: int, best: float, last: float, won: float, train: tuple[float, float]) -> Sign:
    steps = c.validation.steps
    return Sign(
        name="val-rising",
        where=c.validation.name,
        steps=(int(steps[turn]), int(steps[-1])),
        strength=share((last - best) / best, RISE_OF_BEST, 2.0),
        numbers={
            "best": best,
            "best_step": float(steps[turn]),
            "end": last,
            "won": won,
            "train_then": train[0],
            "train_end": train[1],
            "turn": float(turn),
        },
        text=f"validation loss rises from {best:.4g} at step {steps[turn]} to {last:.4g} while training loss falls from {train[0]:.4g} to {train[1]:.4g}",
    )
