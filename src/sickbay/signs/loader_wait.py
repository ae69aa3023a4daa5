"""A good part of each step is spent waiting for its batch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.registry import share, sign

SHARE = 0.3
"""Of a step: what users call input-bound (DL4J #8130)."""
WAIT, WAIT_FOR_WORKERS = 0.006, 0.03
"""Seconds for a batch: collating takes one or two milliseconds (half a one in the healthy scripts of the ward), and workers that share a busy machine keep others waiting now and then."""
STEPS = 30
TOTAL = 1.0
"""Seconds in all: less is not worth a word."""
PARTS = 4
"""...of the run, in each of which it is so: a machine that was busy for a while is none."""


@sign("loader-wait")
def loader_wait(record: Record) -> Iterator[Sign]:
    waits, whole = record.series("time/data"), record.series("time/step")
    if not record.facts.loaders or len(waits) != len(whole):
        return
    use = np.isfinite(waits.values) & np.isfinite(whole.values) & ~np.isin(waits.steps, _first_of_epochs(record))
    wait, step = waits.values[use], whole.values[use]
    if len(wait) < STEPS:
        return
    parts = [(float(np.median(w)), float(np.median(s))) for w, s in zip(np.array_split(wait, PARTS), np.array_split(step, PARTS), strict=True)]
    least = min(w / max(s, 1e-9) for w, s in parts)
    usual, total = float(np.median(wait)), float(wait.sum() / max(step.sum(), 1e-9))
    workers = any(x.workers for x in record.facts.loaders if x.role == "train")
    lost = total * record.facts.run.training_seconds if record.facts.run.training_seconds else float(wait.sum())
    if min(least, total) < SHARE or usual < (WAIT_FOR_WORKERS if workers else WAIT) or lost < TOTAL:
        return
    yield Sign(
        name="loader-wait",
        where=waits.name,
        steps=(int(waits.steps[0]), int(waits.steps[-1])),
        strength=share(total, SHARE, 1.0),
        numbers={"share": total, "wait": usual, "step": float(np.median(step)), "seconds": lost},
        text=f"a step waits {1000 * usual:.0f} ms of its {1000 * float(np.median(step)):.0f} ms for its batch: {100 * total:.0f} % of the training time",
    )


def _first_of_epochs(record: Record) -> np.ndarray:
    """Steps with the first batch of a pass, for which workers have to start and iterators to be made."""
    epochs = record.series("epoch")
    return np.asarray(epochs.steps[np.diff(epochs.values, prepend=np.nan) != 0])
