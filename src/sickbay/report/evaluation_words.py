"""An evaluation in sentences: what every way of showing it begins with."""

from __future__ import annotations

import math

from sickbay.facts.evaluated import Confused, Evaluated, Score
from sickbay.report import words

SURELY = 0.05
"""A class is told to be taken for another where surely (lower end of the interval) more than this share of it is: everybody confuses something."""
FEWEST = 3
"""...and more than one or two samples are."""
FAR = 2.0
"""Times the calibration error that chance gives, from which it is told."""

TITLES = {"beyond": "BETTER THAN A CONSTANT", "unclear": "NO BETTER THAN A CONSTANT, AS FAR AS CAN BE SEEN", "below": "WORSE THAN A CONSTANT"}
VERDICTS = {"beyond": "healthy", "unclear": "undecided", "below": "sick"}


def value(number: float) -> str:
    """Three digits are more than most test sets know."""
    if not math.isfinite(number):
        return words.number(number)
    return f"{number:.3f}".rstrip("0").rstrip(".") if 0.01 <= abs(number) < 1 else words.number(float(f"{number:.3g}"))


def interval(score: Score) -> str:
    """ "accuracy 0.91 (0.88–0.93)"."""
    if not math.isfinite(score.low + score.high):
        return f"{score.name} {value(score.value)}"
    low, middle, high = ends(score.low, score.value, score.high)
    return f"{score.name} {middle} ({low}–{high})"


def ends(low: float, middle: float, high: float) -> tuple[str, str, str]:
    """A number and its interval, to the digits that the interval leaves standing."""
    half = (high - low) / 2
    if max(abs(low), abs(high)) >= 100 or not math.isfinite(half):
        return value(low), value(middle), value(high)
    digits = max(2, min(6, math.ceil(-math.log10(half)))) if half > 0 else 2
    return f"{low:.{digits}f}", f"{middle:.{digits}f}", f"{high:.{digits}f}"


def statement(e: Evaluated) -> str:
    """The one sentence that says most."""
    parts = [f"{interval(e.score)} on {units(e)}", f"a constant would score {value(e.score.constant)}"]
    if e.task == "numbers" and e.more:
        error = e.more[0]
        parts.append(f"{interval(error)}, a constant's is {value(error.constant)}")
    if pair := most_confused(e):
        parts.append(taken(pair))
    worse = [s for s in e.slices if s.worse]
    if worse:
        more = f" and {words.count(len(worse) - 1, 'other slice')}" if len(worse) > 1 else ""
        parts.append(f"worse where {words.clean(worse[0].by)} is {words.clean(worse[0].value)}{more}")
    return "; ".join(parts)


def units(e: Evaluated) -> str:
    if e.unit == "samples":
        return words.count(e.counted, "sample")
    return f"{e.counted:,} {e.unit} of {words.count(e.samples, 'sample')}"


def most_confused(e: Evaluated) -> Confused | None:
    return next((c for c in e.confused if c.low > SURELY and c.count >= FEWEST), None)


def taken(c: Confused) -> str:
    """ "class 3 is taken for 5 in 31 % of its 45 cases"."""
    return f"class {words.clean(c.given)} is taken for {words.clean(c.taken_for)} in {words.percent(c.share)} of its {words.count(c.support, 'case')}"


def sureness(e: Evaluated) -> str:
    """How the model's probabilities fit, in one sentence; empty where it has none."""
    r = e.reliability
    if r is None:
        return ""
    start = f"expected calibration error {value(r.error)}"
    if math.isfinite(r.by_chance):
        start += f" (a calibrated model shows up to {value(r.by_chance)} on so many)"
    if r.of == "predicted class":
        told = f"{words.percent(r.confidence)} sure on average, right in {words.percent(r.accuracy)}"
    else:
        told = f"it says {words.percent(r.confidence)} yes on average, {words.percent(r.accuracy)} are"
    chance = r.by_chance if math.isfinite(r.by_chance) else 0.02
    if r.error <= FAR * chance:
        return f"{start}: {told}"
    gap = r.confidence - r.accuracy
    word = "too sure" if gap > r.error / 2 else "not sure enough" if gap < -r.error / 2 else "off in both directions"
    if r.of == "positive class":
        word = {"too sure": "it says yes too often", "not sure enough": "it says yes too seldom"}.get(word, word)
    return f"{start}; {word}: {told}"


def class_word(e: Evaluated) -> str:
    return "label" if e.task == "labels" else "class"
