"""A validation loss that the script only prints, as a series like any other.

It counts only where its scale is known: the script prints its training loss beside it, and that is the one that was observed, or its root (an RMSE)
or exponential (a perplexity), which are turned back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np

from sickbay.nouns import Family, Series

TRAIN = frozenset("train training trn tr fit".split())
EVAL = frozenset("val va valid validation eval evaluation dev test holdout heldout".split())
FILLERS = frozenset("loss elbo cost objective epoch step iter iteration batch avg average mean running set final last".split())
FEWEST = 3
SAME, MOSTLY = 0.15, 0.7
"""A printed number is the mean of the losses since the last one, or the last of them, give or take rounding and weights by batch size; in seven lines of ten at least."""
ALIKE = 4.0
"""What is said to be of training may be worked out anew with the weights as they are at the end of the epoch: within this factor. (A sum over the batches is further off.)"""

APART = 5.0
"""At the first evaluation a model has not had the time to overfit by such a factor."""

NEAR = 2.0
"""...and one that has learned as little as training lies within this one."""

Turn = Callable[[np.ndarray], np.ndarray]
TURNS: Mapping[str, Turn] = {"rmse": np.square, "ppl": np.log, "perplexity": np.log}
"""From what is printed to the loss, where that is its root or its exponential."""
LOSSES = frozenset({"loss", "mse", "nll", "ce", "bce", "cost", *TURNS})
"""Words that no accuracy goes by."""


def heard(series: Mapping[str, Series], families: Mapping[str, Family]) -> dict[str, Series]:
    """The series with the printed validation loss, where none was observed."""
    told, observed = families.get("printed"), series.get("loss/train")
    evaluated = [s for name, s in series.items() if name.startswith("loss/eval")]
    if told is None or observed is None or any(_on_one_scale(s, observed) for s in evaluated):
        return dict(series)
    columns = {name: _column(told, j) for j, name in enumerate(told.names)}
    trained = [name for name, column in columns.items() if not _words(name) & EVAL and _is_observed(name, column, observed)]
    known = {_measure(name): _turn(name) for name in trained}
    said = any(
        name.split()[-1:] and name.split()[-1] in LOSSES for name in trained
    )  # not "loss: train 1.93 valid 1.95", where one word stands for both
    for name, column in columns.items():
        measure = _measure(name)
        if said and not _words(name) & LOSSES and not _no_share(column, observed):
            continue  # "loss 1.93 valid 0.447"
        if _words(name) & EVAL and len(column) > 1 and (measure in known or (known and not measure)):
            turn = known[measure] if measure in known else next(iter(known.values()))
            values = turn(np.maximum(column.values, 1e-30) if turn is np.log else column.values)
            others = {n: s for n, s in series.items() if not n.startswith("loss/eval")}
            return others | {"loss/eval": Series("loss/eval", column.steps, values)}
    return dict(series)


def side_by_side(families: Mapping[str, Family]) -> tuple[Series, Series] | None:
    """Training's and validation's loss as the script prints them beside each other, by one word that no accuracy goes by; on whatever scale that is."""
    told = families.get("printed")
    for j, train in enumerate(told.names if told is not None else ()):
        for k, evaluated in enumerate(told.names if told is not None else ()):
            of_training, of_validation = _words(train), _words(evaluated)
            alike = _measure(train) == _measure(evaluated) and of_training & LOSSES and of_training & TRAIN and of_validation & EVAL
            if told is not None and alike and not of_training & EVAL and not of_validation & TRAIN:
                a, b = _column(told, j), _column(told, k)
                if len(a) and np.array_equal(a.steps, b.steps):
                    return a, b
    return None


def _on_one_scale(evaluated: Series, observed: Series) -> bool:
    """An evaluation that calls a part of the loss only (the error without the penalty, a mean where training sums up) starts elsewhere than training was."""
    if not len(evaluated):
        return False
    level = _before(observed, evaluated)
    return not (level > 0 and evaluated.values[0] > 0) or 1 / APART < evaluated.values[0] / level < APART


def _before(observed: Series, evaluated: Series) -> float:
    """Where training was when the first evaluation came."""
    losses = observed.values[observed.steps < evaluated.steps[0]][-10:]
    return float(np.median(losses)) if len(losses) else float(observed.values[0])


def _no_share(column: Series, observed: Series) -> bool:
    """Whether a number that no word calls a loss, beside one that is called so, can't be an accuracy: above 1, and at first about as large as training's loss."""
    if not len(column):
        return False
    level = _before(observed, column)
    return float(np.min(column.values)) > 1 and level / NEAR < float(column.values[0]) < NEAR * level


def _words(name: str) -> set[str]:
    return set(re.split(r"[^a-z0-9*]+", name.replace("held-out", "heldout").replace("held out", "heldout"))) - {""}


def _measure(name: str) -> frozenset[str]:
    """The words that say what is measured: "mse" of "train mse" and of "val mse"; a loss by any name is one."""
    return frozenset(_words(name) - TRAIN - EVAL - FILLERS)


def _column(family: Family, j: int) -> Series:
    values = np.asarray(family.values, float)[:, j]
    there = np.flatnonzero(np.isfinite(values))
    steps, first = np.unique(family.steps[there], return_index=True)  # a line may come twice in one step
    return Series("loss/eval", steps, values[there][first])


def _turn(name: str) -> Turn:
    return next((turn for word, turn in TURNS.items() if word in _words(name)), np.asarray)


def _is_observed(name: str, column: Series, observed: Series) -> bool:
    if len(column) < FEWEST or (_turn(name) is np.log and float(np.min(column.values)) <= 0):
        return False
    worked_out_anew = bool(_words(name) & TRAIN and _words(name) & LOSSES)
    hits, before = 0, 0
    for step, value in zip(column.steps.tolist(), _turn(name)(column.values).tolist(), strict=True):
        since = observed.values[(observed.steps >= before) & (observed.steps < step)]
        hits += len(since) > 0 and any(_same(value, x, worked_out_anew) for x in (float(np.mean(since)), float(since[-1])))
        before = step
    return hits >= MOSTLY * len(column)


def _same(value: float, x: float, roughly: bool) -> bool:
    return abs(value - x) <= SAME * abs(x) or (roughly and x > 0 and x / ALIKE <= value <= x * ALIKE)
