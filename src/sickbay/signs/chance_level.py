"""A classifier's loss ends where guessing by the shares of the classes would be."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.curves import Curve, end
from sickbay.signs.losses import chance_loss, judged_losses
from sickbay.signs.registry import share, sign

MINIMUM_STEPS = 50
# A net that has learned anything is below the entropy of the labels; 3 % leaves room for labels counted on few batches.
NEAR = 0.97
FAR = 1.5
"""Far above guessing is confidently wrong, which is not the same as knowing nothing."""
# In a log the number of classes is not told. A loss that begins at ln C for a whole C (within 2 %), has lost no more than a tenth of that, and comes with an accuracy that is no better than guessing by
# half: the three of them together.
BEGINS, KEPT, BETTER = 0.02, 0.9, 1.5
FEW = 8
MOST_CLASSES = 1000
EXACTLY = 1e-3
TWO_CLASSES = 1.1
"""Of two classes 55 % are guesses; 75 % are not."""


@sign("chance-level")
def chance_level(record: Record) -> Iterator[Sign]:
    if record.facts.log is not None:
        yield from _logged(record)
        return
    for c, loss in judged_losses(record):
        heads = loss.heads if loss else ()
        guess = chance_loss(record, heads[0]) if len(heads) == 1 else None
        if guess is None or len(c) < MINIMUM_STEPS:
            continue
        last = end(c)
        certain = last.value - 2 * last.error > NEAR * guess or (last.value > NEAR * guess and last.error < 0.01 * guess)
        if certain and last.value < FAR * guess:
            yield Sign(
                name="chance-level",
                where=c.name,
                steps=(int(c.steps[0]), int(c.steps[-1])),
                strength=share(len(c), 0, 300),
                numbers={"end": last.value, "chance": guess},
                text=f"the loss ends at {last.value:.4g}; guessing by the shares of the classes gives {guess:.4g}",
            )


def _logged(record: Record) -> Iterator[Sign]:
    rates = [s.values[np.isfinite(s.values)] for s in (record.series("accuracy/eval"), record.series("accuracy/train"))]
    rates = [r / (100 if float(np.max(r)) > 1 else 1) for r in rates if len(r) >= FEW]
    for c, _ in judged_losses(record) if rates else ():
        classes = _one_answer(record) or _classes(c)
        right = max(float(np.mean(r[-max(3, len(r) // 3) :])) for r in rates)
        near = bool(classes) and KEPT * math.log(classes) < end(c).value < FAR * math.log(classes)
        if near and len(c) >= FEW and right * classes < (BETTER if classes > 2 else TWO_CLASSES):
            yield Sign(
                name="chance-level",
                where=c.name,
                steps=(int(c.steps[0]), int(c.steps[-1])),
                strength=share(len(c), 0, 300),
                numbers={"end": end(c).value, "chance": math.log(classes)},
                text=f"the loss ends at {end(c).value:.4g} and {right:.0%} of the answers are right; guessing among {classes} classes gives {math.log(classes):.4g} and {1 / classes:.0%}",
            )


def _one_answer(record: Record) -> int:
    """Of how many classes a validation accuracy that never moves is one: the same answer is given to every sample of classes that are equally frequent."""
    rate = record.series("accuracy/eval").values
    if len(rate) < FEW or float(np.ptp(rate)) != 0.0 or not 0 < rate[0] < 100:
        return 0
    classes = (100 if rate[0] > 1 else 1) / float(rate[0])
    return round(classes) if 1.5 < classes < MOST_CLASSES and abs(classes - round(classes)) < EXACTLY else 0


def _classes(c: Curve) -> int:
    """Of how many classes the first value is the loss of guessing; 0 if of none."""
    first = float(np.max(c.values[:3]))
    classes = round(math.exp(first)) if 0 < first < math.log(MOST_CLASSES) else 0
    return classes if classes > 1 and abs(first - math.log(classes)) < BEGINS * first else 0
