"""What a trial showed: untreated against treated, in one word and one sentence.

CURED         what pointed to the cause is gone, and training is better for it (or runs at all)
HELPED        training is better, but something is still wrong; or what pointed to the cause is gone and the loss is about the same
NO EFFECT     no difference, though one would have been seen
HARMED        training is worse
INCONCLUSIVE  noise, too few steps, or two losses that cannot be compared

The strongest criterion is not a curve: the evidence that made somebody suspect the cause is there in the untreated record and is not in the treated
one (`gone`). The curves then say whether that did any good. What ended the run (an exception, NaN) outranks both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sickbay.nouns import Effect, Series
from sickbay.record.reader import Record
from sickbay.trials.levels import FEWEST, Levels, combine, compare_levels, start_of
from sickbay.trials.rating import rated_by_validation

FASTER = 0.7
"""Two workers make batches in half the time at best; a busy machine takes some of that back."""
ABOUT_THE_SAME = 0.4
"""A loss that is half as high again (e^0.4 = 1.5) is no good outcome, even where noise keeps it from being called worse."""
LONGER = 1.5
"""A run that breaks down this many times later than before is better off, if not well."""


@dataclass(frozen=True, slots=True)
class Course:
    """How a run went, as far as a comparison needs it."""

    loss: Series
    evaluation: Series
    accuracy: Series
    samples: int
    """...that one accuracy is a mean over; 0 if unknown."""
    steps: int
    crash: str = ""
    """The exception that ended it."""

    @property
    def broke(self) -> int | None:
        """The first step whose loss was not finite."""
        bad = np.flatnonzero(~np.isfinite(self.loss.values))
        return int(self.loss.steps[bad[0]]) if len(bad) else None


@dataclass(frozen=True, slots=True)
class Outcome:
    effect: Effect
    text: str
    """One sentence with the numbers."""
    size: float = 0.0
    """How much lower the treated loss is, as a difference of logarithms; negative if higher."""
    noise: float = 0.0
    noisy: bool = False
    """Nothing but noise keeps it from being told: more seeds may."""


def course_of(record: Record, until: int | None = None) -> Course:
    """Of a record, up to a step."""

    def cut(name: str) -> Series:
        s = record.series(name)
        keep = s.steps < until if until is not None else np.ones(len(s), bool)
        return Series(name, s.steps[keep], s.values[keep])

    crash = record.facts.crash
    ended = crash is not None and (until is None or crash.step < until)
    evaluation = next(iter(record.facts.evaluations), None)
    samples = evaluation.samples // max(1, evaluation.passes) if evaluation is not None else 0
    steps = record.facts.run.steps if until is None else min(record.facts.run.steps, until)
    return Course(
        cut("loss/train"), cut("loss/eval"), cut("accuracy/eval"), samples, steps, f"{crash.kind} at step {crash.step:,}" if crash and ended else ""
    )


def compare(
    untreated: Course,
    treated: Course,
    *,
    redefined: bool = False,
    eased: bool = False,
    gone: bool | None = None,
    well: bool = False,
    others: Sequence[tuple[Course, Course]] = (),
) -> Outcome:
    """`gone`: the cause's evidence was in the untreated record and is not in the treated one; None if it never was. `well`: nothing else is firmly
    suspected in the treated run. `redefined`: the treatment computes the loss otherwise. `eased`: it leaves out what is hard to learn. `others`: the same two ways with other seeds, in pairs."""
    if gone is False and _identical(untreated, treated):
        return Outcome("INCONCLUSIVE", "nothing is different, not even in the last digit: the treatment does not take hold of this script")
    ended = _endings(untreated, treated, gone)
    if ended is not None:
        return ended
    levels = _levels(untreated, treated, redefined)
    if others:
        levels = combine([levels, *(_levels(a, b, redefined) for a, b in others)])
    rated = rated_by_validation(untreated, treated, redefined)
    told = f"{_told(untreated, treated)}{rated[1] if rated else ''}"
    better = (levels.relation == "lower" and not eased) or (rated is not None and rated[0] > 0)
    worse = rated[0] < 0 if rated is not None and rated[0] else levels.relation == "higher"
    if redefined:  # another loss may fall less, and trade accuracy for what it is there for (rare classes): it is worse if it does not fall
        worse = levels.relation == "higher" and not _falls(treated)
    effect = _effect(levels, better and not worse, worse, gone, well, redefined)
    suffix = {True: "; what pointed to it is gone", False: "; what pointed to it is still there", None: ""}[gone]
    seeds = f"; over {len(others) + 1} seeds {_apart(levels)}" if others else ""
    noisy = effect == "INCONCLUSIVE" and levels.relation == "unclear" and not worse
    return Outcome(effect, told + seeds + suffix, levels.effect, levels.noise, noisy)


def comparable(untreated: Course, treated: Course) -> bool:
    """Both ran, and their losses can be laid beside each other."""
    steps = np.intersect1d(untreated.loss.steps, treated.loss.steps)
    whole = all(np.isfinite(c.loss.values).all() and not c.crash for c in (untreated, treated))
    return whole and len(steps) >= FEWEST


def compare_waiting(untreated: Record, treated: Record, gone: bool | None) -> Outcome:
    """For what slows a run down and leaves its losses alone: the time that a step waits for data."""
    before, now = (_usual(r.series("time/data").values) for r in (untreated, treated))
    text = f"a step waits {1000 * now:.3g} ms for data (untreated {1000 * before:.3g} ms)"
    if gone or now < FASTER * before:
        return Outcome("CURED" if gone else "HELPED", text)
    return Outcome("HARMED" if now * FASTER > before and before else "INCONCLUSIVE", text)


def _usual(waits: NDArray[np.float64]) -> float:
    """The mean without the tenth at either end. Workers deliver together, so that every other step waits for nothing: a median would be either half."""
    cut = len(waits) // 10
    return float(np.sort(waits)[cut : len(waits) - cut].mean()) if len(waits) else 0.0


def _effect(levels: Levels, better: bool, worse: bool, gone: bool | None, well: bool, redefined: bool) -> Effect:
    if better:
        return "CURED" if gone or (gone is None and well) else "HELPED"
    if worse:
        # A loss that is computed otherwise may be higher and still be the better one.
        return "INCONCLUSIVE" if redefined else "HARMED"
    if gone:
        return "HELPED" if redefined or levels.effect > -ABOUT_THE_SAME else "INCONCLUSIVE"
    return "NO EFFECT" if levels.relation == "same" else "INCONCLUSIVE"


def _endings(untreated: Course, treated: Course, gone: bool | None) -> Outcome | None:
    """What ended either run, or made its loss NaN, decides by itself."""
    before, now = untreated.broke, treated.broke
    if now is not None and (before is None or now < before / LONGER):
        at = f"where it stayed finite before (over {untreated.steps:,} steps)" if before is None else f"earlier than before (step {before:,})"
        return Outcome("HARMED", f"the loss is not finite from step {now:,}, {at}")
    if before is not None and now is not None:
        later = now > LONGER * (before + 1)
        return Outcome("HELPED" if later else "NO EFFECT", f"the loss is not finite from step {now:,} (untreated: from step {before:,})")
    if before is not None:
        if treated.steps <= before:
            return Outcome(
                "INCONCLUSIVE", f"the treated run ended after {treated.steps:,} steps, before step {before:,}, where the loss was not finite"
            )
        text = f"the loss stays finite over {treated.steps:,} steps (untreated: not finite from step {before:,}){_fell(treated)}"
        return Outcome("HELPED" if gone is False else "CURED", text)
    if treated.crash and not (untreated.crash and untreated.steps <= treated.steps < LONGER * (untreated.steps + 1)):
        return Outcome("INCONCLUSIVE", f"the treated script stopped with {treated.crash}")
    if untreated.crash and not treated.crash and treated.steps > untreated.steps:
        return Outcome("HELPED" if gone is False else "CURED", f"the script runs on (untreated: it stopped with {untreated.crash}){_fell(treated)}")
    if treated.crash and untreated.crash:
        return Outcome("NO EFFECT", f"the script still stops with {treated.crash}")
    common = len(np.intersect1d(untreated.loss.steps, treated.loss.steps))
    if common < FEWEST:
        if not len(untreated.loss) and len(treated.loss) >= FEWEST:
            return Outcome("CURED" if gone else "HELPED", f"there is a loss to train on now{_fell(treated)}")
        return Outcome("INCONCLUSIVE", f"only {common} steps can be compared")
    return None


def _levels(untreated: Course, treated: Course, redefined: bool) -> Levels:
    _, i, j = np.intersect1d(untreated.loss.steps, treated.loss.steps, return_indices=True)
    return compare_levels(untreated.loss.values[i], treated.loss.values[j], own_start=redefined)


def _identical(untreated: Course, treated: Course) -> bool:
    pairs = ((untreated.loss, treated.loss), (untreated.evaluation, treated.evaluation), (untreated.accuracy, treated.accuracy))
    return untreated.steps == treated.steps > 0 and all(
        np.array_equal(a.steps, b.steps) and np.array_equal(a.values, b.values, equal_nan=True) for a, b in pairs
    )


def _apart(levels: Levels) -> str:
    """How far the treated loss lies from the untreated one, in words."""
    share = 1 - math.exp(-levels.effect)
    noise = f"noise {100 * levels.noise:.0f} %"
    return f"{abs(share):.0%} {'lower' if share > 0 else 'higher'} on average ({noise})"


def _told(untreated: Course, treated: Course) -> str:
    return f"loss {_ends(treated)} (untreated {_ends(untreated)})"


def _ends(course: Course) -> str:
    values = course.loss.values[np.isfinite(course.loss.values)]
    tail = max(1, len(values) // 10)
    return f"{start_of(values):.3g} → {float(np.median(values[-tail:])):.3g}"


def _falls(course: Course) -> bool:
    """By a tenth, from its start to its last quarter."""
    values = course.loss.values[np.isfinite(course.loss.values)]
    return bool(len(values)) and float(np.median(values[-max(1, len(values) // 4) :])) < 0.9 * start_of(values)


def _fell(course: Course) -> str:
    return f", {_ends(course)}" if np.isfinite(course.loss.values).any() else ""
