"""An incident in words: the line that every report has, and the sentences of the page that `sickbay incident` shows."""

from __future__ import annotations

from collections.abc import Iterable

from sickbay.facts import FirstInvalid, Incident, NonfiniteBatch, PartKept, PartMissing, TensorKept
from sickbay.report import words

ROWS = 8
VALUES = {"nan": "NaN", "inf": "infinity", "-inf": "-infinity"}
PARTS = {"batch": "batch", "inputs": "model inputs", "rng": "random states", "weights": "weights", "optimizer": "optimizer state"}
UNKNOWN = "which operation it came from is not known"
THINGS = {"loss": "the loss", "gradient": "a gradient", "weight": "a weight"}


def headline(incident: Incident) -> str:
    """ "The loss was NaN at step 137"."""
    if incident.kind == "crash":
        return f"An exception ended step {incident.step:,}"
    value = VALUES.get(incident.loss, "not finite") if incident.kind == "loss" else "not finite"
    return words.headline(f"{THINGS.get(incident.kind, 'a value')} was {value} at step {incident.step:,}")


def kept(incident: Incident) -> str:
    """ "batch, model inputs and weights (23 KB)"."""
    parts = [PARTS.get(k.part, words.clean(k.part)) for k in incident.kept]
    return f"{words.listing(parts)} ({words.size(incident.bytes)})" if parts and incident.file else "nothing"


def summary(incident: Incident) -> str:
    """One line for a report of the run."""
    lacking = "; not all fitted" if any(m.bytes for m in incident.missing) else ""
    return f"{headline(incident)}; kept: {kept(incident)}{lacking}."


def origin(first: FirstInvalid, folder: str) -> str:
    """Where it first came up, in a sentence."""
    where = words.place(first.place, folder)
    at = f" at {where}" if where else ""
    what = f"`{words.clean(first.call)}`" if first.call else words.clean(first.op)
    if first.origin == "parameter":
        since = f", since the update of step {first.updated_at:,}" if first.updated_at is not None else ""
        return f"the weight {words.clean(first.name) or 'of a layer'} was not finite already{since}{f'; it was used{at}' if at else ''}"
    if first.origin == "data":
        return f"the data was not finite already; it was used by {what}{at}" if what else "the data was not finite already"
    if not what:
        return UNKNOWN
    if first.backward:
        return f"the loss was finite; its gradient first was not in the slope of {what}{at}{_given(first)}{_rows(first)}"
    gave = VALUES.get(first.kind, "a value that is not finite")
    finite = "; all weights were finite" if first.parameters_finite else ""
    return f"{what}{at} gave {gave}{_given(first)}{_rows(first)}{finite}{'' if first.traced else ' (its line is from an earlier step)'}"


def _given(first: FirstInvalid) -> str:
    if first.lowest is None or first.highest is None:
        return ""
    return f", given values from {words.number(first.lowest)} to {words.number(first.highest)}"


def _rows(first: FirstInvalid) -> str:
    if not first.rows:
        return ""
    ago = first.passes_ago
    earlier = f" of the batch {words.count(ago, 'backward pass')} before the last of the step" if ago else ""
    return f", in {rows(first.rows)}{samples(first.samples)}{earlier}"


def rows(positions: Iterable[int]) -> str:
    found = list(positions)
    more = f" and {len(found) - ROWS} more" if len(found) > ROWS else ""
    return f"row{'' if len(found) == 1 else 's'} {', '.join(str(r) for r in found[:ROWS])}{more}"


def samples(indices: Iterable[int]) -> str:
    found = list(indices)
    return f" (data set {'index' if len(found) == 1 else 'indices'} {', '.join(map(str, found[:ROWS]))})" if found else ""


def data(bad: NonfiniteBatch) -> str:
    what = f"`{words.clean(bad.variable)}`" if bad.variable else f"the {words.clean(bad.role)}"
    where = f" in {rows(bad.rows)}{samples(bad.samples)}" if bad.rows else ""
    return (
        f"{what} held {VALUES.get(bad.kind, 'values that are not finite')} when it entered the {'model' if bad.role == 'input' else 'loss'}{where}."
    )


def tensor(t: TensorKept) -> str:
    """ "32 × 8 float32, -2.1 to 3.4, 8 not finite in row 3"."""
    told = [f"{words.shape(t.shape)} {words.clean(t.dtype)}"]
    if t.minimum is not None and t.maximum is not None:
        told.append(f"{words.number(t.minimum)} to {words.number(t.maximum)}")
    if t.invalid:
        told.append(f"{t.invalid:,} not finite{f' in {rows(t.rows)}' if t.rows else ''}")
    if not t.kept:
        told.append("not kept")
    return ", ".join(told)


def part_kept(part: PartKept, incident: Incident) -> str:
    name = PARTS.get(part.part, words.clean(part.part))
    if part.part == "rng":
        late = [n for n, when in incident.rng.items() if when != "forward"]
        early = [n for n, when in incident.rng.items() if when == "forward"]
        spoken = {"python": "Python"}
        told = [f"{words.listing(spoken.get(n, words.clean(n)) for n in early)} as the forward pass began"] if early else []
        told += [f"{words.listing(spoken.get(n, words.clean(n)) for n in late)} when it was noticed"] if late else []
        return f"{name}: {'; '.join(told)}"
    if part.tensors and not part.bytes:
        return f"{name}: {words.count(part.tensors, 'tensor')}, the same as above"
    when = f" {words.clean(incident.weights)} the update" if part.part == "weights" else ""
    return f"{name}{when}: {words.count(part.tensors, 'tensor')}, {words.size(part.bytes)}"


def part_missing(missing: PartMissing) -> str:
    name = PARTS.get(missing.part, words.clean(missing.part))
    named = ", ".join(words.clean(n) for n in missing.names[:3] if n)
    more = missing.tensors - min(3, len(missing.names))
    which = f" ({named}{f' and {more:,} more' if more > 0 and named else ''})" if named else ""
    amount = f"{words.count(missing.tensors, 'tensor')}, {words.size(missing.bytes)}{which}: " if missing.bytes else f"{named}: " if named else ""
    return f"{name}: {amount}{words.clean(missing.why)}"
