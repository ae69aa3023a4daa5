"""What `nonfinite-input` and `nonfinite-target` share: finding the batch that brought the first non-finite loss."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sickbay.causes.evidence import listed, located, proof, times
from sickbay.facts import NonfiniteBatch
from sickbay.nouns import Evidence
from sickbay.record.reader import Record
from sickbay.signs.losses import training_losses

WORDS = {"nan": "NaN", "inf": "infinity", "-inf": "minus infinity"}


def guilty(record: Record, role: str) -> NonfiniteBatch | None:
    """The first batch that held such values and made its own step's loss non-finite, if nothing was broken before it.

    A model that handles the values keeps its loss finite. Values that were non-finite only after the loss was (a generated
    input, a simulation driven by the model) are a consequence.
    """
    found = sorted((b for b in record.facts.nonfinite if b.role == role and b.loss_nonfinite), key=lambda b: b.step)
    firsts = [c.first_nonfinite for c, _ in training_losses(record) if c.first_nonfinite is not None]
    for batch in found:
        # One step of tolerance: a batch is counted when it enters the model, the loss when its step ends.
        if not firsts or batch.step <= min(firsts) + 1:
            return batch
    return None


def tell(batch: NonfiniteBatch) -> Iterator[Evidence]:
    """The ledger's lines about that batch."""
    word = WORDS.get(batch.kind, batch.kind)
    name = f"`{batch.variable}`" if batch.variable else ("the batch" if batch.role == "input" else "the target")
    yield proof(
        f"{name} holds {word} in {batch.count:,} of {batch.total:,} values at step {batch.step}{located(batch.place, ', where it is used at')}"
        f"{_where(batch)}; the loss of this step is not finite",
        batch.place,
        (batch.step, batch.step),
        count=batch.count,
        total=batch.total,
        batches=batch.batches,
        batches_seen=batch.batches_seen,
    )


def _where(batch: NonfiniteBatch) -> str:
    parts = []
    if batch.samples:
        parts.append(f"{'sample' if len(batch.samples) == 1 else 'samples'} {listed([str(i) for i in batch.samples])} of the data set")
    elif batch.rows:
        parts.append(f"{'row' if len(batch.rows) == 1 else 'rows'} {listed([str(i) for i in batch.rows])} of the batch")
    if columns_of(batch):
        parts.append(f"{columns_of(batch)} of {batch.columns_total}")
    if batch.batches_seen > 1:
        parts.append(f"{times(batch.batches, 'batch').replace('batchs', 'batches')} of {batch.batches_seen:,} seen so far")
    return f" ({'; '.join(parts)})" if parts else ""


MOST_COLUMNS = 8
"""More columns than this are no property of single columns (a picture, a spectrogram)."""


def columns_of(batch: NonfiniteBatch) -> str:
    """ "columns 0, 32, 39" where the values are in a few columns of a table; else ""."""
    if not 0 < len(batch.columns) <= MOST_COLUMNS or len(batch.columns) >= batch.columns_total:
        return ""
    return f"{'column' if len(batch.columns) == 1 else 'columns'} {listed([str(i) for i in batch.columns], MOST_COLUMNS)}"


def base_name(variable: str) -> str:
    """ "x_train" of "x_train[idx]"; "x" if there is no name in it."""
    match = re.match(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", variable)
    return match.group() if match and "(" not in variable else "x"
