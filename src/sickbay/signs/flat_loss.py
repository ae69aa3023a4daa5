"""The training loss shows no descent from its first step on."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.curves import Curve, drift, end, fell, start
from sickbay.signs.losses import alone, enough, is_cross_entropy, judged_losses
from sickbay.signs.registry import share, sign
from sickbay.signs.validation import validation_falls

MINIMUM_STEPS = 30
"""Below this, warm-up and noise hide any descent."""
FEW, UNMOVED = 4, 0.02
"""Of four to seven values of a log only those tell that all lie within 2 % of each other."""
WON = 0.03
LINE = 3.0
"""Standard errors: a line through noise alone falls so far once in 700 logs."""
CLEARLY = 0.2
"""Of a run that was watched step by step the line has to fall by a fifth: less is what a creeping loss does."""
MUCH = 0.4
"""...or it falls, if less surely, and the noise leaves room for two fifths."""
ROOM = 0.15
"""Where the noise is so great that a descent of 15 % could hide in it, nothing shows that there is none."""
MANY = 60
"""...unless there are so many values: where their line does not fall by half a standard error even, the eye sees no descent in them either."""
RISE = 1.5
"""Above this times its start it is not flat: `diverging-loss` looks at that."""


@sign("flat-loss")
def flat_loss(record: Record) -> Iterator[Sign]:
    found = [*_falls_nowhere(record)]
    yield from found or (_unmoved(record) if record.facts.log is not None else ())


def _falls_nowhere(record: Record) -> Iterator[Sign]:
    for c, loss in [*judged_losses(record), *((c, None) for c in alone(record))]:
        first, last = start(c), end(c)
        if (
            len(c) < enough(record, MINIMUM_STEPS, FEW)
            or _unclear(c)
            or _fell(record, c)
            or last.value > RISE * first.value + 4 * last.error
            or first.value == 0
        ):
            continue
        classes = next((h.classes for h in (loss.heads if loss else ()) if is_cross_entropy(h) and h.classes), None)
        chance = f"; guessing among {classes} classes gives {math.log(classes):.3g}" if classes and classes > 1 else ""
        yield Sign(
            name="flat-loss",
            where=c.name,
            steps=(int(c.steps[0]), int(c.steps[-1])),
            strength=share(len(c), 0, 300),
            numbers={"start": first.value, "end": last.value, "lowest": float(np.min(c.values)), "noise": c.noise},
            text=f"{'validation loss' if c.name.startswith('loss/eval') else 'the loss'} does not fall: {first.value:.4g} at the start, {last.value:.4g} at step {c.steps[-1]} (noise {c.noise:.2g}{chance})",
        )


def _unmoved(record: Record) -> Iterator[Sign]:
    """In a log: a validation loss that is the same to its last digit in every evaluation, as it is when the weights do not move."""
    if any(fell(c) for c, _ in judged_losses(record)):
        return
    for series in record.series_like("loss/eval"):
        value = float(series.values[0]) if len(series) > 2 else 0.0
        if value != 0 and math.isfinite(value) and bool(np.all(series.values == value)):
            yield Sign(
                name="flat-loss",
                where=series.name,
                steps=(int(series.steps[0]), int(series.steps[-1])),
                strength=1.0,
                numbers={"start": value, "end": value, "lowest": value, "noise": 0.0},
                text=f"validation loss is {value:.6g} in each of {len(series)} evaluations, to the last digit, as it is when the weights do not move",
            )


def _fell(record: Record, c: Curve) -> bool:
    """In a log 3 % are a descent too if they are beyond the noise: fine-tuning often wins no more, and with batches as noisy as those
    of language models only the line through the whole curve shows it, or the validation loss beside it."""
    if fell(c):
        return True
    down, error = drift(c.values, c.noise)
    level = abs(float(np.median(c.values)))
    if record.facts.log is None:  # single samples differ so much that only the line through all of them shows a descent
        return down > CLEARLY * level and (down > LINE * error or (down > 2 * error and down + 2 * error > MUCH * level))
    slopes = down > LINE * error and down > WON * level
    hidden = down > (error / 2 if len(c) >= MANY else 0) and down + 2 * error > ROOM * level
    return slopes or hidden or fell(c, share=WON, errors=8.0) or validation_falls(record, 0.0, WON)


def _unclear(c: Curve) -> bool:
    return len(c) < 2 * FEW and float(np.ptp(c.values)) > UNMOVED * abs(float(c.values[0]))
