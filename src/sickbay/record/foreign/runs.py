"""One file, several runs: where training began anew, where it was resumed, and which step each row belongs to.

A log may hold two axes (steps and epochs), steps that begin anew with each epoch, validation rows that count something else, runs
that were appended one after the other, and stretches that were trained twice because a run was resumed from a checkpoint. All of it is
decided on the rows of the training loss; every other row belongs to the training row before it, or to its own step where that fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sickbay.record.foreign.choose import Choice
from sickbay.record.foreign.sheet import Sheet
from sickbay.record.foreign.text import FORMAT as TEXT

Axis = Literal["step", "epoch", "row"]
Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
COVERS = 0.3
AGAIN = 0.2
FALSE_STARTS, LATER = 2, 3
"""Rows that may stand for runs of one value, and how many others have to show that there is one row for each position."""
BEYOND, CLEARLY = 1.5, 4.0
"""An epoch is as long as the others, or is broken off: one that goes so many times farther than all before it continues them only where the loss
is so many times nearer to their end than to their beginning."""
CURVES = ("loss/train", "loss/eval", "accuracy/train", "accuracy/eval")
ALONE, AGREED, MOST_ANEW = 5, 2, 100
"""Rows on both sides of a new beginning, curves that have to show it, and as many are looked for."""
MANY, SHORT = 4, 3
"""Three runs and more of one or two values each, where the loss goes on from one to the next, are one."""


@dataclass(frozen=True)
class Stretch:
    """The rows of one run and the steps they belong to."""

    rows: Rows
    """Rows of the training loss (or whatever the log's main curve is), increasing."""
    steps: Rows
    """Their steps, strictly increasing."""
    first: int
    last: int
    """All rows from `first` up to `last` (exclusive) are this run's."""
    axis: Axis
    resumed: int = 0
    """How often it went back to an earlier step."""
    origin: int | None = None
    """Where steps are the numbers of rows, the row that they are counted from."""


def stretches(sheet: Sheet, choice: Choice) -> list[Stretch]:
    """The runs of a log, in the order of the file."""
    rows, values = _main(sheet, choice)
    if len(rows) == 0:
        return []
    step, epoch = (
        _at(sheet, _covering(sheet, choice.step, len(rows)), rows),
        _at(sheet, _covering(sheet, choice.epoch, len(rows)), rows, choice.epoch),
    )
    position, axis = _position(step, epoch, values)
    restarts = _restarts(position) if axis != "row" else [int(i) for i in np.unique(np.searchsorted(rows, sheet.begins)) if 0 < i < len(rows)]
    restarts += _anew(sheet, choice, rows) if axis == "row" and sheet.format != TEXT else []
    aborted = [] if sheet.format == TEXT else _false_starts(position, values, restarts)  # a bar may be drawn once more
    ended = [int(i) for i in np.unique(np.searchsorted(rows, sheet.ends)) if 0 < i < len(rows)]
    edges = [0, *sorted({*restarts, *aborted, *ended}), len(rows)]
    if len(edges) > MANY and float(np.median(np.diff(edges))) < SHORT and _continues(position, values):
        position, axis, edges = np.arange(len(rows), dtype=float), "row", [0, len(rows)]  # what seemed to count steps counts something else
    found = []
    for k, (a, b) in enumerate(pairwise(edges)):
        first = 0 if k == 0 else _first_row(sheet, choice, int(rows[a - 1]), int(rows[a]))
        last = _first_row(sheet, choice, int(rows[b - 1]), int(rows[b])) if b < len(rows) else sheet.count
        origin = first if axis == "epoch" and _between(sheet, choice, rows[a:b], first, last) else None
        found.append(_stretch(rows[a:b], position[a:b], axis, first, last, origin))
    return found


def _first_row(sheet: Sheet, choice: Choice, before: int, after: int) -> int:
    """Rows between the last of one run and the first of the next belong to the earlier run, but an evaluation at step 0 begins the next, and so does
    one of an earlier epoch where the log says that training was done."""
    if (end := next((e for e in sheet.ends if before < e <= after), None)) is not None:
        return _back_at(sheet, choice.epoch, before, end, after)
    if choice.step is None:
        return after
    rows, values = sheet.columns[choice.step].arrays()
    between = (rows > before) & (rows < after) & (values == 0)
    return int(rows[between][0]) if between.any() else after


def _back_at(sheet: Sheet, axis: str | None, before: int, end: int, after: int) -> int:
    """The first row after the end of a run that tells an earlier epoch: until then the finished model is evaluated once more."""
    if axis is None:
        return end
    rows, values = sheet.columns[axis].arrays()
    reached = np.max(values[rows <= before], initial=-np.inf)
    earlier = rows[(rows >= end) & (rows < after) & (values < reached)]
    return int(earlier[0]) if len(earlier) else after


def _between(sheet: Sheet, choice: Choice, rows: Rows, first: int, last: int) -> bool:
    """Whether a run was evaluated several times, in different epochs, between two values of its training loss (Hugging Face's, told every 500 steps)."""
    if choice.epoch is None or "loss/eval" not in choice.series or sheet.thinned:
        return False
    at, _ = sheet.columns[choice.series["loss/eval"][0]].arrays()
    at = at[(at >= first) & (at < last)]
    epochs = _at(sheet, choice.epoch, at)
    return epochs is not None and bool(np.any((np.diff(np.searchsorted(rows, at)) == 0) & (np.diff(epochs) > 0)))


def _main(sheet: Sheet, choice: Choice) -> tuple[Rows, Floats]:
    for name in ("loss/train", "loss/train@1", "loss/eval", "accuracy/train", "accuracy/eval", "score/eval", "score/train", "reward"):
        if name in choice.series:
            return sheet.columns[choice.series[name][0]].arrays()
    # Megatron leaves out a loss that is not a number: of such a log the gradient norm is all there is.
    rows, norms = sheet.columns[choice.series["grad_norm"][0]].arrays() if "grad_norm" in choice.series else (np.empty(0, np.int64), np.empty(0))
    return (rows, norms) if len(norms) and not np.isfinite(norms).any() else (np.empty(0, np.int64), np.empty(0))


def _covering(sheet: Sheet, name: str | None, rows: int) -> str | None:
    """An axis that has a value in a few rows only is none (a "step" in a printed configuration)."""
    return name if name is not None and len(sheet.columns[name]) >= COVERS * rows else None


def _at(sheet: Sheet, name: str | None, rows: Rows, epoch: str | None = None) -> Floats | None:
    """An axis at the given rows: its value there, or the last one before. None where the log has no such axis."""
    if name is None:
        return None
    own, values = sheet.columns[name].arrays()
    finite = np.isfinite(values)
    own, values = own[finite], values[finite]
    if len(own) == 0:
        return None
    if sheet.thinned:
        return np.asarray(np.interp(rows, own, values))
    at = np.searchsorted(own, rows, side="right") - 1
    # A text that begins in the middle of a run, or tells a loss before its first epoch: what stands before "Epoch 130" is of the epoch before it.
    before = values[0] - (1.0 if sheet.format == TEXT and name == epoch and values[0] == round(values[0]) else 0.0)
    return np.where(at >= 0, values[np.maximum(at, 0)], before)


def _position(step: Floats | None, epoch: Floats | None, values: Floats) -> tuple[Floats, Axis]:
    """Where each row stands in its run: a number that only falls where training went back."""
    if step is not None and len(step) > 1 and np.all(step == step[0]):
        step = None  # a total, or a constant
    if epoch is not None and len(epoch) > 1 and np.all(epoch == epoch[0]) and step is None:
        epoch = None
    if step is None:
        return (np.arange(len(values), dtype=float), "row") if epoch is None else (epoch, "epoch")
    if epoch is not None and _begins_anew(step, epoch):
        # A step of 500 of 500 belongs before step 1 of the next epoch; steps from 0 on make one more than the highest of them. The first epoch is 0 or 1.
        width = float(np.max(step)) + (float(np.min(step)) < 1)
        passed = np.floor(epoch) - (1.0 if float(np.floor(np.min(epoch))) == 1 else 0.0)
        return np.asarray(passed * width + step), "step"
    if epoch is None and _continues(step, values):
        drops = np.concatenate([[False], np.diff(step) < 0])
        return np.asarray(np.cumsum(drops) * (float(np.max(step)) + 1) + step), "step"
    return step, "step"


def _begins_anew(step: Floats, epoch: Floats) -> bool:
    """Whether the step counts within the epoch: it falls, or stands still, where the epoch rises."""
    rises = np.floor(epoch[1:]) > np.floor(epoch[:-1])
    falls = step[1:] <= step[:-1]
    return bool(np.any(rises)) and float(np.mean(falls[rises])) > 0.5


def _continues(step: Floats, values: Floats) -> bool:
    """Whether the loss goes on where the step falls back (a new epoch), or is back where it first began (a new run)."""
    drops = np.flatnonzero(np.diff(step) < 0) + 1
    if len(drops) == 0:
        return False
    beyond = float(np.max(step[drops[-1] :])) > BEYOND * float(np.max(step[drops - 1]))
    margin = CLEARLY if beyond else 1.0
    begun, votes = float(values[0]), 0
    for i in drops[:50]:
        before, after = float(values[i - 1]), float(values[i])
        votes += 1 if margin * abs(after - before) < abs(after - begun) else -1
    anew = float(np.mean(step[drops] <= step[0] + 1e-9))
    return votes > 0 and anew > 0.5


def _restarts(position: Floats) -> list[int]:
    """Where a new run begins: the position falls back to where the run before began (further on it is a resumed run)."""
    found: list[int] = []
    begin = 0
    for i in np.flatnonzero(np.diff(position) < 0) + 1:
        if i > begin and position[i] <= position[begin] + 1e-9:
            found.append(int(i))
            begin = int(i)
    return found


def _anew(sheet: Sheet, choice: Choice, rows: Rows) -> list[int]:
    """Where a table that numbers nothing shows a new run by its curves alone: from one row to the next all of them are worse than they ever were, and
    then training falls without a break from above all that was before. A jump that is over in the next row is none, nor is one that stays."""
    told = [(name, sheet.columns[choice.series[name][0]].arrays()) for name in CURVES if name in choice.series]
    curves = [-values if name.startswith("accuracy") else values for name, (own, values) in told if np.array_equal(own, rows)]
    if len(curves) < AGREED or not all(np.isfinite(c).all() for c in curves):
        return []
    found: list[int] = []
    while len(found) < MOST_ANEW:
        begin = found[-1] if found else 0
        peaks = [np.maximum.accumulate(c[begin:]) for c in curves]
        worse = np.flatnonzero(np.logical_and.reduce([c[begin + 1 :] > p[:-1] for c, p in zip(curves, peaks, strict=True)])) + 1
        worse = worse[(worse >= ALONE) & (worse <= len(rows) - begin - ALONE)]
        train, peak = curves[0][begin:], peaks[0]
        at = next((int(i) for i in worse if train[i + 1] > peak[i - 1] and bool(np.all(np.diff(train[i : i + ALONE]) < 0))), None)
        if at is None:
            break
        found.append(begin + at)
    return found


def _false_starts(position: Floats, values: Floats, restarts: list[int]) -> Iterator[int]:
    """Where a run begins after another that ended with its first value: a row or two at the position of the next, with other values,
    where every later position has one row. Not of epochs in fractions: rounded, the first of them are alike."""
    for a, b in pairwise([0, *restarts, len(position)] if np.all(position == np.round(position)) else []):
        first = int(np.argmax(position[a:b] > position[a])) if b > a else 0
        if not 1 < first <= FALSE_STARTS + 1 or b - a < first + LATER or np.any(np.diff(position[a + first : b]) <= 0):
            continue
        other = np.flatnonzero(values[a : a + first - 1] != values[a + first - 1])
        yield from (a + int(i) + 1 for i in other[-1:])


def _stretch(rows: Rows, position: Floats, axis: Axis, first: int, last: int, origin: int | None) -> Stretch:
    kept = np.ones(len(rows), bool)
    drops = np.flatnonzero(np.diff(position) < 0) + 1
    resumed = 0
    for i in drops[:1000]:
        if i + 1 < len(position) and position[i + 1] > position[i - 1]:
            kept[i] = False  # a single row out of order
            continue
        kept[:i] &= position[:i] < position[i]  # what was trained twice counts as it was trained last
        resumed += 1
    if axis == "epoch":
        kept &= ~_told_again(position)
    if axis == "epoch" and (np.any(np.diff(position[kept]) <= 0) or np.any(position[kept] != np.round(position[kept]))):
        axis, position = "row", np.arange(len(rows), dtype=float) if origin is None else (rows - origin).astype(float)
    else:
        origin = None
    rows, position = rows[kept], position[kept]
    steps = np.clip(np.round(position), -(2.0**53), 2.0**53).astype(np.int64)
    later = np.concatenate([np.diff(steps) > 0, [True]])  # of rows with the same step the last counts
    higher = np.maximum.accumulate(steps) == steps
    return Stretch(rows[later & higher], steps[later & higher], first, last, axis, resumed, origin)


def _told_again(position: Floats) -> NDArray[np.bool_]:
    """Rows of an epoch of which the next row tells again, where that is so of a few: some bars are drawn once more when validation is done."""
    again = np.concatenate([np.diff(position) == 0, [False]])
    return np.asarray(again & bool(again.sum() <= AGAIN * len(position)))


def steps_of(sheet: Sheet, choice: Choice, stretch: Stretch, rows: Rows) -> Rows:
    """The steps of other rows of the run: their own where it fits between their neighbours, else that of the training row before."""
    if stretch.origin is not None:
        return np.asarray(rows - stretch.origin)
    at = np.searchsorted(stretch.rows, rows, side="right") - 1
    before = np.where(at >= 0, stretch.steps[np.maximum(at, 0)], stretch.steps[0])
    axis = choice.step if stretch.axis == "step" else choice.epoch if stretch.axis == "epoch" else None
    if axis is None or sheet.thinned:
        return np.asarray(before)
    own_rows, own_values = sheet.columns[axis].arrays()
    place = np.searchsorted(own_rows, rows)
    inside = np.minimum(place, max(0, len(own_rows) - 1))
    has = (place < len(own_rows)) & (own_rows[inside] == rows) if len(own_rows) else np.zeros(len(rows), bool)
    own = np.where(has, own_values[inside] if len(own_rows) else 0.0, np.nan)
    if len(rows) > 1 and (at[0] == len(stretch.rows) - 1 or at[-1] < 0) and bool(np.all(np.diff(own) > 0)) and float(np.max(np.abs(own))) < 2**53:
        return np.asarray(np.round(own).astype(np.int64))  # a table with one curve below the other
    low = np.where(at >= 0, before, -np.inf)
    after = np.minimum(at + 1, len(stretch.rows) - 1)
    high = np.where(at + 1 < len(stretch.rows), stretch.steps[after], np.inf)
    fits = np.isfinite(own) & (own >= low) & (own <= high) & (np.abs(own) < 2**53)
    return np.asarray(np.where(fits, np.round(np.where(fits, own, 0.0)), before).astype(np.int64))
