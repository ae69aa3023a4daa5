"""What the causes of NaN share: the batch that brought the first of it, the update that broke the weights, overflow of half precision."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from sickbay.causes.evidence import at, listed, located, proof, times
from sickbay.facts import FirstInvalid, Fragile, Loss, NonfiniteBatch
from sickbay.nouns import Evidence
from sickbay.record.reader import Record
from sickbay.script.nonfinite_origin import origin
from sickbay.signs.losses import training_losses

WORDS = {"nan": "NaN", "inf": "infinity", "-inf": "minus infinity"}


def guilty(record: Record, role: str) -> NonfiniteBatch | None:
    """The first batch that held such values and made its own step's loss non-finite, if nothing was broken before it.

    A model that handles the values keeps its loss finite. Values that were non-finite only after the loss was (a generated
    input, a simulation driven by the model) are a consequence.
    """
    found = sorted((b for b in record.facts.nonfinite if b.role == role and b.loss_nonfinite), key=lambda b: b.step)
    firsts = [c.first_nonfinite for c, _ in training_losses(record) if c.first_nonfinite is not None]
    made = [f.step for loss in record.facts.losses for f in loss.invalid if f.origin == "operation"]
    for batch in found:
        if any(step < batch.step for step in made):  # an operation of the script had broken something before
            return None
        # One step of tolerance: a batch is counted when it enters the model, the loss when its step ends.
        if not firsts or batch.step <= min(firsts) + 1:
            return batch
    return None


def tell(record: Record, batch: NonfiniteBatch) -> Iterator[Evidence]:
    """The ledger's lines about that batch."""
    made = origin(record, batch)
    word = WORDS.get(batch.kind, batch.kind)
    counted = f" in {batch.count:,} of {batch.total:,} values" if batch.total else ""  # the values themselves are not always seen
    name = f"`{batch.variable}`" if batch.variable else ("the batch" if batch.role == "input" else "the target")
    yield proof(
        f"{name} holds {word}{counted} at step {batch.step}{located(batch.place, ', where it is used at')}"
        f"{_where(batch)}; the loss of this step is not finite" + (f"; {at(made.place)}: {made.says}" if made is not None else ""),
        made.place if made is not None else batch.place,
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
        in_all = f", with {len(batch.found):,} samples in all" if len(batch.found) > len(batch.samples) else ""
        parts.append(f"{times(batch.batches, 'batch').replace('batchs', 'batches')} of {batch.batches_seen:,} seen so far{in_all}")
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


# -- what came up inside the model ---------------------------------------------------------------------------------------


def in_half(first: FirstInvalid) -> bool:
    """Whether an operation overflowed only because it was computed in float16: the same values fit float32."""
    return first.dtype == "float16" and first.origin == "operation" and first.fits_single is True


def lost_guard(loss: Loss, first: FirstInvalid) -> Fragile | None:
    """An operation in float16 whose argument reached zero although a constant is added to it: the constant is smaller than float16 can tell from zero."""
    if first.dtype != "float16" or first.origin != "operation":
        return None
    return next((f for f in loss.fragile if f.guarded and f.op == first.op and f.place == first.place), None)


def incidents(record: Record) -> list[FirstInvalid]:
    """The first value of each loss that was not finite, earliest first."""
    return sorted((i for loss in record.facts.losses for i in loss.invalid), key=lambda i: i.step)


GROWN_WEIGHTS = 1e4
"""The largest weight against that of the first step: healthy training multiplies it by a few."""


def weights_ran_away(record: Record) -> str:
    """The weights had grown beyond all bounds when the first value was not finite, or the update before had made them infinite itself."""
    first = next(iter(incidents(record)), None)
    if first is None or first.largest_at_start is None or first.largest is None or first.largest < GROWN_WEIGHTS * first.largest_at_start:
        return ""
    grown = f"the largest weight had grown from {first.largest_at_start:.3g} to {first.largest:.3g} when the first value was not finite, at step {first.step}"
    return f"{grown}{broken_update(record)}"


def broken_update(record: Record) -> str:
    """ "; the update of step 41 made 0.weight not finite (learning rate 50, gradient norm 3e+12)"."""
    first = next((i for i in incidents(record) if i.origin == "parameter" and i.updated_at is not None), None)
    if first is None or first.updated_at is None:
        return ""
    rate, norm = _newest(record, "lr", first.updated_at), _newest(record, "grad_norm", first.updated_at)
    with_these = ", ".join(
        part for part in (f"learning rate {rate:.3g}" if rate is not None else "", f"gradient norm {norm:.3g}" if norm is not None else "") if part
    )
    return f"; the update of step {first.updated_at} made {first.name or 'weights'} not finite{f' ({with_these})' if with_these else ''}"


def _newest(record: Record, name: str, step: int) -> float | None:
    """The newest finite value of a series up to a step."""
    series = record.series(name)
    known = series.values[(series.steps <= step) & np.isfinite(series.values)]
    return float(known[-1]) if len(known) else None
