"""A script twice: the first step that differs, and as far as it was followed the first tensor and operation, or the first layer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sickbay.errors import UsageError
from sickbay.record.comparison import compare_losses
from sickbay.record.reader import Record
from sickbay.supervise.command import Command
from sickbay.supervise.examining import examine, must
from sickbay.supervise.trying import is_seeded
from sickbay.trials.fingerprints import FILE
from sickbay.trials.orders import Orders

RANDOM = frozenset(
    "dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout rand randn randint randperm rand_like randn_like randint_like normal uniform "
    "bernoulli multinomial random exponential poisson kaiming_uniform kaiming_normal xavier_uniform xavier_normal trunc_normal".split()
)
"""Operations that draw; names as a trace has them."""
FAMILIES = (("weight_norm", "weights"), ("grad_norm", "gradient"))


def repeat(what: Command, folder: Path, steps: int | None) -> tuple[bool, str]:
    orders = Orders(steps=steps, fingerprints=True)
    both = list(examine(what, folder, [("first", orders), ("second", orders)]))
    one, other = map(must, both)
    compared = compare_losses(one, other)
    if not compared.compared:
        raise UsageError("the two runs have no step in common that could be compared: no training loss was seen")
    if one.facts.run.steps != other.facts.run.steps:
        return False, f"the two runs made {one.facts.run.steps:,} and {other.facts.run.steps:,} steps."
    at = compared.differs_at
    first, second = (_fingerprints(seen.done.job.folder) for seen in both)
    layer = first_operation(first, second, at) or first_layer(one, other, at)
    if at is None and layer is None:
        return True, f"all {compared.compared:,} losses of the two runs are the same, bit for bit as recorded."
    where = f"the losses differ first at step {at:,} ({compared.before:.9g} and {compared.now:.9g})" if at is not None else "the losses are the same"
    more = f"; {layer}" if layer else ""
    return False, f"{where}{more}. {_advice(one, at)}"


def first_operation(one: Sequence[Mapping[str, Any]], other: Sequence[Mapping[str, Any]], until: int | None) -> str | None:
    """Which of the first steps' operations differs first, in what it was given or in what it gave."""
    for a, b in zip(one, other, strict=False):
        step, where = a["step"], f"{a['operation']}{_at(a)}"
        if until is not None and step > until:
            return None
        if any(a[name] != b[name] for name in ("step", "operation", "file", "line")):
            return f"the two runs part at step {step:,}: {where} in one, {b['operation']}{_at(b)} in the other"
        for before, now in zip(a["given"], b["given"], strict=False):
            if before != now:
                kind = "a weight" if before[1] else "data"
                return f"the first tensor that differs is {kind} of shape {tuple(before[0])}, given to {where} at step {step:,}"
        if a["gave"] != b["gave"]:
            drawn = a["operation"] in RANDOM
            why = "draws other random numbers" if drawn else "gives another result from the same input"
            return f"the first operation that differs is {where}, which {why} at step {step:,}"
    return None


def _at(noted: Mapping[str, Any]) -> str:
    return f" at {Path(noted['file']).name}:{noted['line']}" if noted["file"] else ""


def _fingerprints(folder: Path) -> list[Mapping[str, Any]]:
    try:
        found = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return found if isinstance(found, list) else []


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
