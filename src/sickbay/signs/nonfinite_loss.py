"""The training loss is NaN or infinite; or, in another tool's log, was so and is written as 0."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.curves import Curve, curve
from sickbay.signs.losses import training_losses
from sickbay.signs.registry import sign

HIDDEN = 0.02
"""A loss that was above a fiftieth of its start does not become exactly 0 from one value to the next and stay there."""

SOLVED = 0.99
"""Of the answers; weights that are not finite give the same answer to everything."""


@sign("nonfinite-loss")
def nonfinite_loss(record: Record) -> Iterator[Sign]:
    if record.facts.log is not None:
        yield from _validation(record)
    for c, _ in training_losses(record):
        if c.first_nonfinite is None:
            if record.facts.log is not None and not _solved(record) and (at := _zero_from(c)) is not None:
                yield _hidden(c, at)
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


def _validation(record: Record) -> Iterator[Sign]:
    """In a log: validation that ends without a number, though training does not."""
    for series in record.series_like("loss/eval"):
        c = curve(series)
        if c.first_nonfinite is not None and not np.isfinite(series.values[-1]):
            yield Sign(
                name="nonfinite-loss",
                where=series.name,
                steps=(c.first_nonfinite, int(series.steps[-1])),
                strength=0.8,
                numbers={"first": c.first_nonfinite, "count": c.nonfinite, "finite": len(c)},
                text=f"the validation loss is not finite from step {c.first_nonfinite} ({c.nonfinite} of {c.nonfinite + len(c)} values)",
            )


def _solved(record: Record) -> bool:
    """Every answer is right at the end: then a loss of 0.0000 is what it says."""
    rates = [s.values[np.isfinite(s.values)] for s in (record.series("accuracy/eval"), record.series("accuracy/train"))]
    return any(float(r[-1]) / (100 if float(np.max(r)) > 1 else 1) >= SOLVED for r in rates if len(r))


def _zero_from(c: Curve) -> int | None:
    """From where on a loss is exactly 0 up to the end, though it came from well above: the HF Trainer writes a NaN so."""
    above = np.flatnonzero(c.values != 0)
    if len(above) == 0 or len(c) - 1 - above[-1] < 2:
        return None
    before = c.values[max(0, above[-1] - 4) : above[-1] + 1]
    return int(above[-1]) + 1 if float(np.min(before[before > 0], initial=np.inf)) > HIDDEN * float(np.max(np.abs(c.values))) else None


def _hidden(c: Curve, at: int) -> Sign:
    return Sign(
        name="nonfinite-loss",
        where=c.name,
        steps=(int(c.steps[at]), int(c.steps[-1])),
        strength=0.9,
        numbers={"first": float(c.steps[at]), "count": float(len(c) - at), "finite": float(at)},
        text=f"the loss is written as exactly 0 from step {c.steps[at]} to the end, right after {c.values[at - 1]:.4g}: so some tools write a loss that is not finite",
    )
