"""A substantial part of the model is never used.

## What happens

Layers are built in `__init__` and their parameters are given to the optimizer, but `forward` never calls them: forgotten when the
model was changed, or overwritten by a second layer. The model is smaller than its author thinks.

## How we know

Strong evidence: over the whole run the layer was called in no forward pass and its parameters got no gradient from any loss,
though an optimizer holds them, they were not loaded from a checkpoint, and they are a tenth or more of what is trained.

## Looks like it but is not

- Small leftovers such as the pooler of a pretrained encoder, or a loaded classifier that was replaced: common and harmless.
- Layers for evaluation only, experts that were not chosen: a run of at least some hundred steps is asked for, and eval calls count.
- Layers that are called but cut off from the loss are `detached-graph`.

## Fix

Call the layer in `forward`, or delete it.

## References

- https://github.com/pytorch/pytorch/issues/57776 (names of unused parameters).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sickbay.causes.evidence import listed, strong
from sickbay.causes.parameters import held, size
from sickbay.causes.registry import cause
from sickbay.facts import Parameter
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.signs import Signs

SHARE = 0.1
MINIMUM_STEPS = 50
LOST = ("chance-level", "flat-loss")
"""Where a model learns nothing at all, a layer that is never called may be what it lacks, however small (a table of positions)."""


@cause(
    code="A204",
    level="architecture",
    title="layers are built but never used",
    why="The model that trains is smaller than the one that was written; what these layers were meant to add is missing.",
    explains={"early-plateau", "chance-level", "flat-loss", "slow-descent"},
)
def unused_parameters(record: Record, signs: Signs) -> Iterator[Evidence]:
    unused = _unused(record)
    lost = bool(unused) and signs.has(*LOST) and not signs.has("update-ratio-low", "update-ratio-high") and not any(p.called for p in unused)
    if unused and (size(unused) > SHARE * size(held(record)) or lost) and record.facts.run.steps >= MINIMUM_STEPS:
        layers = list(dict.fromkeys(p.layer or p.name for p in unused))
        how = (
            f"took part in none of {record.facts.run.forwards:,} forward passes"
            if not any(p.called for p in unused)
            else "are computed, but nothing of their result reaches the loss, and they never changed"
        )
        yield strong(
            f"{listed(layers)} ({size(unused):,} of {size(held(record)):,} trained values) {how}",
            next((w.built_at for p in unused for w in record.facts.weights if w.name == p.name), None),
            parameters=len(unused),
            values=size(unused),
        )


def _unused(record: Record) -> list[Parameter]:
    # What lies behind a detach or no_grad is another illness: detached-graph.
    cut = {name for loss in record.facts.losses for c in loss.cuts for name in c.parameters}
    followed = any(loss.graph_reads for loss in record.facts.losses)
    return [
        p
        for p in held(record)
        if p.in_model and p.reached is False and not p.loaded and p.moved is not True and p.name not in cut and (followed or not p.called)
    ]


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    layers = list(dict.fromkeys(p.layer or p.name for p in _unused(record)))
    return Fix(f"call {listed(layers)} in forward, or delete what is not needed", "", "advice")
