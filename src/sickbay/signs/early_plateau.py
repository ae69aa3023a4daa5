"""The loss falls a little, then stands still well above its start's half; in a log, at any level that is not low, for most of the run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.curves import Curve, Level, drift, end, fell, level, noise, start, trend_share
from sickbay.signs.losses import alone, enough, judged_losses
from sickbay.signs.registry import share, sign
from sickbay.signs.validation import comparisons, validation_falls

MINIMUM_STEPS = 100
ENOUGH = 12
"""In a log, whose values are means."""
HIGH = 0.7
"""Above 0.7 of its start. Many honest problems end there (noisy labels, label smoothing), so alone it means nothing."""
DONE = 0.1
"""The second half made less than a tenth of the descent."""
# A log is called a plateau by its shape, so the standing still has to be shown and not only a descent be missing: all that the noise
# leaves room for in the second half is less than 5 % of the level.
ROOM = 0.05
# A curve that ends lower, down to 0.4 of its start, is one only if it stands for the last 70 % of the run within 2 %: what has converged
# well is lower than that or still creeps on (language models, detectors).
LOW, STANDS_FROM, STANDS_WITHIN = 0.4, 0.3, 0.02
STILL_WON = 0.01
# Values of a log, each the mean over an epoch, of which nearly all that is won is won by the second or third. Of five to eleven values less than a
# tenth may be won (more may come), and all others lie within 2 %. Of twelve and more, which have stood for most of the run, the first lies clear above
# all others by a twentieth, and these fall by less than 2 % along their line (5 % with what their noise leaves room for).
HANDFUL, HARDLY = 5, 0.9
CLEAR = 0.05
# Six to eleven values, of which those from the third on lie within 2 %, at any level that is not low, while validation has moved by less than 5 % since its
# first evaluation: what two epochs won was all.
BOTH_STAND, SETTLED, EVALUATION_STANDS = 6, 2, 0.05


@sign("early-plateau")
def early_plateau(record: Record) -> Iterator[Sign]:
    for c in [*(c for c, _ in judged_losses(record)), *alone(record)]:
        at_once = _stood_at_once(record, c) or _both_stand(record, c)
        if not at_once and not _stands(record, c):
            continue
        # A training loss that is noisy seems to stand long before it does: validation that still falls shows it.
        if record.facts.log is not None and validation_falls(record, 0.5, STILL_WON):
            continue
        first, last, middle = start(c), end(c), _middle(c)
        yield Sign(
            name="early-plateau",
            where=c.name,
            steps=(int(c.steps[len(c) // 2]), int(c.steps[-1])),
            strength=share(last.value / first.value, HIGH, 1.0),
            numbers={"start": first.value, "middle": middle.value, "end": last.value},
            text=f"the loss fell from {float(c.values[0]) if at_once else first.value:.4g} and then stands at {last.value:.4g} (already {middle.value:.4g} half-way)",
        )


def _stands(record: Record, c: Curve) -> bool:
    if len(c) < enough(record, MINIMUM_STEPS, ENOUGH) or not fell(c):
        return False
    first, last = start(c), end(c)
    high = last.value > HIGH * first.value > 0 and trend_share(c) < DONE and last.value < first.value + 4 * first.error
    return (high and (record.facts.log is None or _room(c, 0.5, ROOM))) or _stood_long(record, c, first.value, last.value)


def _stood_at_once(record: Record, c: Curve) -> bool:
    if record.facts.log is None or len(c) < HANDFUL or c.nonfinite:
        return False
    first, rest = float(c.values[0]), c.values[1:]
    if len(c) < ENOUGH:
        within = float(np.ptp(rest)) < STANDS_WITHIN * first
        return HARDLY * first < float(np.min(rest)) and float(np.max(rest)) < (1 - STANDS_WITHIN) * first and within
    later, level_then = rest[1:], float(np.median(rest))
    down, error = drift(later, noise(later))
    stands = abs(down) < STANDS_WITHIN * level_then and abs(down) + 2 * error < ROOM * level_then
    return HIGH * first < level_then and float(np.max(rest)) < (1 - CLEAR) * first and stands


def _both_stand(record: Record, c: Curve) -> bool:
    if record.facts.log is None or not BOTH_STAND <= len(c) < ENOUGH or c.nonfinite:
        return False
    first, rest = float(c.values[0]), c.values[SETTLED:]
    stands = float(np.ptp(rest)) < STANDS_WITHIN * float(np.min(rest)) and LOW * first < float(np.max(rest)) < (1 - CLEAR) * first
    beside = [pair.validation.values for pair in comparisons(record)]
    return stands and any(len(v) >= BOTH_STAND for v in beside) and all(float(np.ptp(v)) < EVALUATION_STANDS * float(np.min(v)) for v in beside)


def _middle(c: Curve) -> Level:
    return level(c.values[len(c) // 2 :][: max(5, len(c) // 10)], c.noise)


def _room(c: Curve, since: float, most: float) -> bool:
    """Whether even the steepest line that the noise allows falls by less than `most` of the level."""
    tail = c.values[int(since * len(c)) :]
    down, error = drift(tail, c.noise)
    return down + 2 * error < most * level(tail, c.noise).value and -down < max(most * level(tail, c.noise).value, 2 * error)


def _stood_long(record: Record, c: Curve, first: float, last: float) -> bool:
    return record.facts.log is not None and len(c) >= 20 and LOW * first < last < first and _room(c, STANDS_FROM, STANDS_WITHIN)
