"""The training loss is NaN or infinite."""

from __future__ import annotations

from collections.abc import Iterator

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.losses import training_losses
from sickbay.signs.registry import sign


@sign("nonfinite-loss")
def nonfinite_loss(record: Record) -> Iterator[Sign]:
    for c, _ in training_losses(record):
        if c.first_nonfinite is None:
            continue
        last = int(record.series(c.name).steps[-1])
        before = f", after {len(c.steps[c.steps < c.first_nonfinite])} finite values" if len(c) and c.steps[0] < c.first_nonfinite else ""
        yield Sign(
            name="nonfinite-loss",
            where=c.name,
            steps=(c.first_nonfinite, last),
            strength=1.0,
            numbers={"first": c.first_nonfinite, "count": c.nonfinite, "finite": len(c)},
            text=f"the loss is not finite from step {c.first_nonfinite}{before} ({c.nonfinite} of {c.nonfinite + len(c)} values)",
        )
