"""Units of a layer start with the same weights and stay the same.

## What happens

Units with the same incoming weights compute the same value, and if what comes after them treats them alike they get the same gradient: they
stay copies of each other forever. A layer of 64 such units can do no more than a layer of one. With all weights at zero it is worse: the layers block each
other's gradient, and nothing but the last bias learns.

## How we know

Proof, in two looks at the weights: before the first update (nearly) all rows of a weight are the same to the last bit, and many steps later, after they
have moved, they still are (of an embedding: its columns). Or: two layers in a row are all zero, and their gradient was exactly zero on every step that was measured. The same holds for
copies of a whole branch that run side by side.

## Looks like it but is not

- A last layer, a residual branch, LoRA's second matrix or a gate that starts at zero: different inputs or targets pull their rows apart at once.
- Constant weights in front of dropout, or copied blocks one after the other (as nn.TransformerEncoder makes them): they come apart.
- Rows of an embedding that never occur in the data.
- Target networks and moving averages: no optimizer trains them.
- A second model that is trained after the first from the same seed: they do not run side by side.

## Fix

Draw weights at random (biases may be zero); of branches, initialise each copy anew.

## References

- Goodfellow, Bengio, Courville 2016, section 8.4: initial parameters must "break symmetry between different units".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sickbay.causes.evidence import first_place, located, proof, strong
from sickbay.causes.initial import RECURRENT, init_place, rescaled, starts
from sickbay.causes.registry import cause
from sickbay.causes.stuck import stuck
from sickbay.facts import Weight
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import mend, sources
from sickbay.signs import Signs

MINIMUM_STEPS = 20
"""Units that are going to come apart do so within a few steps."""
GATES = {"LSTM": 4, "GRU": 3, "LSTMCell": 4, "GRUCell": 3}
"""The rows of a recurrent weight are its units once for each gate: gates differ from each other even when units do not."""
TORCHS = frozenset({"Linear", "Conv1d", "Conv2d", "Conv3d", "Embedding", "LSTM", "GRU", "RNN", "Bilinear"})
"""Layers that multiply no two weights of their own."""
FEW = 4
"""At most a quarter of the units differ."""


@cause(
    code="A206",
    level="architecture",
    title="units start identical and never differ",
    why="Units with the same weights get the same gradient, so a whole layer can do no more than one unit, or, at zero, nothing learns at all.",
    explains={
        "flat-loss", "slow-descent", "early-plateau", "chance-level", "class-imbalance", "small-gradients", "gradient-decay-with-depth", "gradient-growth-with-depth",
        "update-ratio-low", "update-ratio-high", "val-flat-from-start", "vanishing-gradient", "lr-too-low", "lr-too-high", "dead-units", "dead-relu",
        "saturated-units", "init-too-small", "init-too-large", "unused-parameters", "activation-collapse",
    },
    cure="reinit",
)  # fmt: skip
def symmetric_init(record: Record, signs: Signs) -> Iterator[Evidence]:
    trained = {p.name for p in record.facts.parameters if p.trainable and p.called and (p.optimizer is not None or record.facts.run.manual_updates)}
    weights = [w for w in record.facts.weights if w.name in trained and w.later_step - w.step >= MINIMUM_STEPS]
    together = list(_together(record, weights))
    for w, units in together[:3]:
        yield proof(
            f"all {units} units of {w.name} start with the same weights{_how(w)}, and after {w.later_step} steps, though they have moved, they are still the same",
            init_place(record, w),
            (w.step, w.later_step),
            units=units,
        )
    if not together:
        yield from _blocked(record, signs)
        yield from _copies(record, weights)


def _together(record: Record, weights: Sequence[Weight]) -> Iterator[tuple[Weight, int]]:
    """Weights whose units were and stayed the same, with their number of units."""
    axes = {s.weight.name: s.map.unit_axis for s in starts(record)}
    for w in weights:
        # The units of a lookup are its columns: what multiplies or follows them alike leaves them alike.
        axis = 0 if w.layer_kind in RECURRENT else 1 if w.layer_kind == "Embedding" and len(w.shape) == 2 else axes.get(w.name)
        if axis is None or w.distinct_later is None or not w.moved:
            continue
        looked, first, later = w.looked_at[axis], w.distinct[axis], w.distinct_later[axis]
        most = max(1, GATES.get(w.layer_kind, 1), looked // FEW if w.layer_kind not in GATES else 0)
        if looked > most and first <= most and later <= most:
            yield w, w.shape[axis] // GATES.get(w.layer_kind, 1)


def _how(w: Weight) -> str:
    return " (all zero)" if w.rms == 0 else f" (all {w.mean:.3g})" if w.distinct == (1, 1) else ""


def _blocked(record: Record, signs: Signs) -> Iterator[Evidence]:
    """Two zero layers in a row: neither lets a gradient through to the other."""
    family = record.family("grad_norm")
    column = {name: family.values[:, j] for j, name in enumerate(family.names)}
    still = [s.weight for s in starts(record) if s.weight.rms == 0 and _never(column.get(s.weight.name))]
    behind = {s.weight.name for s in starts(record) if s.map.after_map}
    zero = still if any(w.name in behind for w in still) else _factors(record, column)
    trouble = stuck(signs)
    if len(zero) < 2 or record.facts.run.steps < MINIMUM_STEPS:
        return
    first = init_place(record, zero[0])
    measured = int(np.isfinite(column[zero[0].name]).sum())
    yield proof(
        f"{zero[0].name} and {zero[-1].name} start at zero{located(first)}, and their gradient was exactly zero on all {measured} steps that "
        "were measured: each blocks the other's",
        first,
        weights=len(zero),
    )
    if trouble is not None:
        yield strong(trouble.text, steps=trouble.steps)


def _factors(record: Record, column: dict[str, np.ndarray]) -> list[Weight]:
    """Two zero matrices of one module that are multiplied with each other (low-rank adapters): their shapes share the inner dimension."""
    zero = [w for w in record.facts.weights if w.trainable and w.rms == 0 and len(w.shape) == 2 and _never(column.get(w.name), 2)]
    for a in zero:
        for b in zero:
            same = a.name.rpartition(".")[0] == b.name.rpartition(".")[0]
            if a is not b and same and a.layer_kind not in TORCHS and (a.shape[0] == b.shape[1] or a.shape[1] == b.shape[0]):
                return [a, b]
    return []


def _never(gradients: np.ndarray | None, times: int = 3) -> bool:
    """Gradients were measured several times, and never was there any."""
    if gradients is None:
        return False
    seen = gradients[np.isfinite(gradients)]
    return len(seen) >= times and not seen.any()


def _copies(record: Record, weights: Sequence[Weight]) -> Iterator[Evidence]:
    begun = {w.name: w.step for w in record.facts.weights}
    # A model that is trained anew from the same seed is no branch of the one before.
    twins = [w for w in weights if w.twin and w.twin_later and w.moved and begun.get(w.twin, w.step) == w.step]
    if twins:
        w = twins[0]
        more = f" (and {len(twins) - 1} more pairs)" if len(twins) > 1 else ""
        yield proof(
            f"{w.name} starts as a copy of {w.twin}, and after {w.later_step} steps, though both have moved, they are still the same{more}",
            _copied_at(record) or next((x.built_at for x in record.facts.weights if x.name == w.twin), None),
            (w.step, w.later_step),
            pairs=len(twins),
        )


def _copied_at(record: Record) -> Place | None:
    """The one line of the script that makes deep copies."""
    found = [(source, c) for source in sources(record) for c in source.calls("deepcopy")]
    if len(found) != 1:
        return None
    source, call = found[0]
    return source.place(call.lineno)


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    if any("as a copy of" in e.text for e in evidence):
        return mend("initialise each branch anew", "", "branches = nn.ModuleList([make_branch() for _ in range(n)])  # not copies of one")
    diff = rescaled(record, first_place(evidence))
    return mend("draw the weights at random", diff, "nn.init.kaiming_normal_(layer.weight)  # biases may stay at zero", "consent")
