"""Two recorded runs: does the second one still do in evaluation what the first one did at its end?"""

from __future__ import annotations

import math

import numpy as np

from sickbay.errors import UsageError
from sickbay.facts import Evaluation
from sickbay.facts.forgotten import Forgotten, Remembered
from sickbay.nouns import Series
from sickbay.record.reader import Record
from sickbay.signs.curves import noise

ERRORS = 3.0
"""Standard errors, as trials are compared by (trials/compare.py)."""
LAST = 3
"""Evaluations at the end of a run whose median is its level: one may be lucky."""


FEWEST = 4
"""Evaluations from which a curve's own jumps are known at all."""
LEAST = 0.01
"""Part of a loss that it is never more exactly known than: another order of the same sums, another machine."""


def compare_runs(one: Record, other: Record, names: tuple[str, str]) -> Forgotten:
    """What the second run's evaluations lost against the end of the first one's. Evaluations are matched by their loader's name, their line, or their order."""
    tasks, notes = [], []
    for e in one.facts.evaluations:
        match, how = _match(e, one, other)
        if match is None:
            notes.append(f"{_called(e, one)} is evaluated in {names[0]} only")
            continue
        if how == "order":
            notes.append(f"{_called(e, one)} of {names[0]} was taken for {_called(match, other)} of {names[1]}, by their order alone")
        tasks += [t for stem in ("accuracy/eval", "loss/eval") if (t := _task(stem, e, one, match, other, names)) is not None][:1]
    if not tasks:
        raise UsageError(f"no evaluation is in both {names[0]} and {names[1]}: there is nothing to compare")
    return Forgotten(tasks=tuple(sorted(tasks, key=lambda t: not t.worse)), notes=tuple(notes))


def _match(e: Evaluation, one: Record, other: Record) -> tuple[Evaluation | None, str]:
    mine = _loader(e, one)
    for found in other.facts.evaluations:
        if mine and _loader(found, other) == mine:
            return found, "name"
    for found in other.facts.evaluations:
        if e.place is not None and found.place is not None and (e.place.file, e.place.line) == (found.place.file, found.place.line):
            return found, "place"
    return next((f for f in other.facts.evaluations if f.index == e.index), None), "order"


def _loader(e: Evaluation, record: Record) -> str:
    return next((x.variable for x in record.facts.loaders if x.index == e.loader), "") if e.loader is not None else ""


def _called(e: Evaluation, record: Record) -> str:
    return _loader(e, record) or f"evaluation {e.index + 1}"


def _task(stem: str, e: Evaluation, one: Record, match: Evaluation, other: Record, names: tuple[str, str]) -> Remembered | None:
    a, b = _series(one, stem, e.index), _series(other, stem, match.index)
    if not len(a) or not len(b):
        return None
    larger = stem.startswith("accuracy")
    before, now = (float(np.median(s.values[-LAST:])) for s in (a, b))
    error, note = _error(a, b, larger, (_samples(e), _samples(match)))
    sign = 1.0 if larger else -1.0
    worse_by = sign * (before - b.values)
    worse = math.isfinite(error) and sign * (before - now) > ERRORS * error
    return Remembered(
        name=_called(e, one),
        measure=stem.partition("/")[0],
        larger_is_better=larger,
        before=before,
        before_at=f"the end of {names[0]}",
        now=now,
        now_at=f"the end of {names[1]}",
        worse=worse,
        since=_since(b, worse_by > ERRORS * error) if worse else None,
        course=tuple((int(s), float(v)) for s, v in zip(b.steps, b.values, strict=True))[-500:],
        note=note,
    )


def _series(record: Record, stem: str, index: int) -> Series:
    s = record.series(f"{stem}@{index}" if index else stem)
    fine = np.isfinite(s.values)
    return Series(s.name, s.steps[fine], s.values[fine])


def _samples(e: Evaluation) -> int:
    return e.samples // max(1, e.passes)


def _error(a: Series, b: Series, share: bool, samples: tuple[int, int]) -> tuple[float, str]:
    """Standard error of the difference: of shares, what so many samples give; and how much the first run's curve jumped by itself when it was done (the second
    one's may be falling all the way, and a fall of few values cannot be told from jumps)."""
    jumps = math.sqrt(2) * noise(a.values[-20:])
    if share and min(samples) > 1:
        p = float(np.clip(np.median(b.values[-LAST:]), 1 / (samples[1] + 2), 1 - 1 / (samples[1] + 2)))
        return math.hypot(jumps, math.sqrt(p * (1 - p) * (1 / samples[0] + 1 / samples[1]))), ""
    if len(a) < FEWEST:
        return math.inf, "too few evaluations to know how much it varies by itself"
    return max(jumps, LEAST * abs(float(np.median(a.values[-LAST:])))), ""


def _since(b: Series, worse: np.ndarray) -> int:
    """The step from which on it stays worse."""
    fine = np.flatnonzero(~worse)
    first = int(fine[-1]) + 1 if len(fine) else 0
    return int(b.steps[min(first, len(b) - 1)])
