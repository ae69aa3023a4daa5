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

import ast
from collections.abc import Iterator, Sequence

from sickbay.causes.evidence import listed, located, strong
from sickbay.causes.parameters import held, size, unused
from sickbay.causes.registry import cause
from sickbay.facts import Parameter
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Function, mend, sources
from sickbay.script.guesses import guess
from sickbay.script.passed_over import mistaken, passed_over
from sickbay.script.prepared import guessed
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
    idle = unused(record)
    lost = bool(idle) and signs.has(*LOST) and not signs.has("update-ratio-low", "update-ratio-high") and not any(p.called for p in idle)
    if idle and (size(idle) > SHARE * size(held(record)) or lost) and record.facts.run.steps >= MINIMUM_STEPS:
        layers = list(dict.fromkeys(p.layer or p.name for p in idle))
        how = (
            f"took part in none of {record.facts.run.forwards:,} forward passes"
            if not any(p.called for p in idle)
            else "are computed, but nothing of their result reaches the loss, and they never changed"
        )
        yield strong(
            f"{listed(layers)} ({size(idle):,} of {size(held(record)):,} trained values) {how}",
            _overwritten(record, idle)
            or _left_out(record, idle)
            or (_lacking(record, idle[0]) if not any(p.called for p in idle) else None)
            or next((w.built_at for p in idle for w in record.facts.weights if w.name == p.name), None),
            parameters=len(idle),
            values=size(idle),
        )


@guess
def _overwritten(record: Record, idle: Sequence[Parameter]) -> Place | None:
    """`for block in self.blocks: h = block(x)`: each is given the same, and only the last one's result is kept."""
    if not all(p.called for p in idle):
        return None
    found = [
        source.place(s.lineno)
        for source in sources(record)
        for loop in ast.walk(source.tree)
        if isinstance(loop, ast.For)
        for s in loop.body
        if isinstance(s, ast.Assign) and _replaces(loop, s)
    ]
    return found[0] if len(found) == 1 else None


@guess
def _left_out(record: Record, idle: Sequence[Parameter]) -> Place | None:
    """`found = self.attention(h)`, and nobody reads `found`: the line that goes on without it, from something else that was worked out."""
    if not all(p.called for p in idle):
        return None
    layers = {part for p in idle for part in p.layer.split(".")}
    found = [
        (source, function, s)
        for source in sources(record)
        for functions in source.defined.values()
        for function in functions
        if isinstance(function, Function)
        for s in function.body
        if isinstance(s, ast.Assign) and _calls_one(s, layers) and not _read_later(function, s)
    ]
    if len(found) != 1:
        return None
    source, function, store = found[0]
    local = {n.id for s in function.body if s is not store for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    later = [s for s in function.body if s.lineno > store.lineno and _reads(s) & local]
    return guessed(source, later[0] if later else store)


def _lacking(record: Record, never_called: Parameter) -> Place | None:
    """Where another layer is called in its place, or where it would come."""
    taken = mistaken(record, never_called.name)
    return taken.place if taken is not None else passed_over(record, never_called.name)


def _calls_one(statement: ast.Assign, layers: set[str]) -> bool:
    return any(isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in layers for n in ast.walk(statement.value))


def _read_later(function: ast.FunctionDef | ast.AsyncFunctionDef, store: ast.Assign) -> bool:
    names = {n.id for t in store.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    attributes = any(isinstance(n, (ast.Attribute, ast.Subscript)) for t in store.targets for n in ast.walk(t))
    return attributes or any(_reads(s) & names for s in function.body if s.lineno > store.lineno)


def _reads(statement: ast.stmt) -> set[str]:
    return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _replaces(loop: ast.For, statement: ast.Assign) -> bool:
    call, target = statement.value, statement.targets[0]
    if not (isinstance(call, ast.Call) and isinstance(target, ast.Name) and ast.unparse(call.func) == ast.unparse(loop.target)):
        return False
    used = {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return target.id not in used  # nobody looks at it before the next one comes


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    idle = unused(record)
    layers = list(dict.fromkeys(p.layer or p.name for p in idle))
    if _overwritten(record, idle) is not None:
        return Fix("give each block what the one before gave: as it is, only the last one's result is kept", "x = block(x)", "advice")
    if all(p.called for p in idle):
        if (place := _left_out(record, idle)) is not None:
            return Fix(f"use what {listed(layers)} give{located(place)}, or delete what is not needed", "", "advice")
        return Fix(f"use what {listed(layers)} give, or delete what is not needed", "", "advice")
    taken = mistaken(record, idle[0].name) if idle and not any(p.called for p in idle) else None
    if taken is not None:
        return mend(
            f"call {taken.meant} where `{ast.unparse(taken.called)}` is called a second time", taken.put_right(), f"self.{taken.meant}", "consent"
        )
    return Fix(f"call {listed(layers)} in forward, or delete what is not needed", "", "advice")
