"""A classifier's loss ends where guessing by the shares of the classes would be."""

from __future__ import annotations

from collections.abc import Iterator

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.curves import end
from sickbay.signs.losses import chance_loss, judged_losses
from sickbay.signs.registry import share, sign

MINIMUM_STEPS = 50
# A net that has learned anything is below the entropy of the labels; 3 % leaves room for labels counted on few batches.
NEAR = 0.97
FAR = 1.5
"""Far above guessing is confidently wrong, which is not the same as knowing nothing."""


@sign("chance-level")
def chance_level(record: Record) -> Iterator[Sign]:
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
