"""A script twice: the first step, and as far as it was measured the first layer, that differs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sickbay.errors import UsageError
from sickbay.record.comparison import compare_losses
from sickbay.record.reader import Record
from sickbay.supervise.command import Command
from sickbay.supervise.examining import examine, must
from sickbay.supervise.trying import is_seeded
from sickbay.trials.orders import Orders

FAMILIES = (("weight_norm", "weights"), ("grad_norm", "gradient"))


def repeat(what: Command, folder: Path, steps: int | None) -> tuple[bool, str]:
    one, other = (must(seen) for seen in examine(what, folder, [("first", Orders(steps=steps)), ("second", Orders(steps=steps))]))
    compared = compare_losses(one, other)
    if not compared.compared:
        raise UsageError("the two runs have no step in common that could be compared: no training loss was seen")
    if one.facts.run.steps != other.facts.run.steps:
        return False, f"the two runs made {one.facts.run.steps:,} and {other.facts.run.steps:,} steps."
    at = compared.differs_at
    layer = first_layer(one, other, at)
    if at is None and layer is None:
        return True, f"all {compared.compared:,} losses of the two runs are the same, bit for bit as recorded."
    where = f"the losses differ first at step {at:,} ({compared.before:.9g} and {compared.now:.9g})" if at is not None else "the losses are the same"
    more = f"; {layer}" if layer else ""
    return False, f"{where}{more}. {_advice(one, at)}"


def first_layer(one: Record, other: Record, until: int | None) -> str | None:
    """Which layer's numbers differ first, on a step that both runs measured."""
    found: list[tuple[int, int, str]] = []
    for name, noun in FAMILIES:
        a, b = one.family(name), other.family(name)
        steps, i, j = np.intersect1d(a.steps, b.steps, return_indices=True)
        if a.names != b.names or not len(steps):
            continue
        differs = (a.values[i] != b.values[j]) & ~(np.isnan(a.values[i]) | np.isnan(b.values[j]))
        rows = np.flatnonzero(differs.any(axis=1))
        if len(rows):
            column = int(np.flatnonzero(differs[rows[0]])[0])
            found.append((int(steps[rows[0]]), column, f"the {noun} of {a.names[column]} differs at step {int(steps[rows[0]]):,}"))
    return min(found)[2] if found and (until is None or min(found)[0] <= until) else None


def _advice(record: Record, at: int | None) -> str:
    if not is_seeded(record):
        return "The script sets no seed: call sickbay.deterministic(0), or torch.manual_seed(0), before anything is drawn."
    if at == 0:
        return "Something is drawn before the seed is set, or from a generator that it does not seed (NumPy, Python, the order of a set)."
    return "The start is the same, so the seed works; an operation, a thread or a loader's worker does not repeat itself: call sickbay.deterministic(seed)."
