"""The optimizer is made anew again and again while training goes on, and forgets what it had gathered.

## What happens

Adam divides by a running size of each gradient, momentum sums past gradients up. A new optimizer starts with neither: its first Adam steps have full
length whatever the gradient, and momentum has to build up again. Made once per batch, Adam only follows signs and momentum never
exists at all; made once per epoch, every epoch begins with a jolt.

## How we know

Proof: the same line makes an optimizer for the very same tensors, which its predecessor had stepped and which nobody else changed since (compared bit
by bit), once per epoch or every few steps.

## Looks like it but is not

- A new model per fold, seed or trial: other tensors, or weights that were reset or loaded in between.
- A new optimizer per stage or task of several epochs each, or after unfreezing layers.
- Plain SGD, which has nothing to forget.
- A new learning rate each time: an old way to write a schedule; `param_groups` or a scheduler would keep the state.

## Fix

Make the optimizer once, before the loop.

## References

- https://docs.pytorch.org/docs/stable/optim.html#constructing-it
- Kingma and Ba 2015 (Adam): the running averages and their correction in the first steps.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from sickbay.causes.epochs import went_through
from sickbay.causes.evidence import hint, located, proof, strong, times
from sickbay.causes.registry import cause
from sickbay.facts import Rebuilt
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.script.fixing import Source, mend, source_at
from sickbay.script.moving import statement_at, without
from sickbay.signs import Signs

MINIMUM = 3
"""Times, besides the first two optimizers of a line, which are not compared: five in all."""
SHORT = 20
"""Steps: momentum of 0.9 remembers ten, Adam's second moments a thousand; an optimizer that lives for twenty never had a memory."""
EACH_EPOCH = 0.8


@cause(
    code="P320",
    level="procedure",
    title="the optimizer is made anew while training goes on",
    why="Each new optimizer starts without momentum and running averages, so steps are rough, and what the old one had learned of the gradients is lost.",
    explains={
        "oscillating-loss",
        "loss-spikes",
        "slow-descent",
        "early-plateau",
        "flat-loss",
        "update-ratio-high",
        "lr-too-high",
        "chance-level",
        "lr-too-low",
    },
    cure="keep-optimizer",
)
def optimizer_rebuilt(record: Record, signs: Signs) -> Iterator[Evidence]:
    for r in record.facts.rebuilt:
        if r.times < MINIMUM or not r.stateful:
            continue
        text = (
            f"{r.kind}{located(r.built_at)} is made again for the same weights, after {times(round(r.steps), 'step')} of its own each time "
            f"({r.times:,} times seen), and starts without its running averages"
        )
        kind = _told(record, r) if r.rate_changed <= 0.5 * r.times else hint
        yield kind(text, r.built_at, times=r.times, life=r.steps)


def _told(record: Record, r: Rebuilt) -> Callable[..., Evidence]:
    """Where only evaluations tell the epochs, there may be one for each task."""
    if r.steps <= SHORT or _each_epoch(record.facts.run.epochs, r):
        return proof
    return strong if _each_epoch(went_through(record) or 0, r) else hint


def _each_epoch(epochs: int, r: Rebuilt) -> bool:
    return epochs >= MINIMUM + 2 and r.times >= EACH_EPOCH * (epochs - 2)


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    r = next((r for r in record.facts.rebuilt if r.times >= MINIMUM and r.stateful), None)
    source = source_at(record, r.built_at) if r is not None else None
    diff = _before_loop(source, r) if source is not None and r is not None else ""
    statement = statement_at(source, r.built_at) if source is not None and r is not None else None
    line = source.segment(statement) if source is not None and isinstance(statement, ast.Assign) else "optimizer = ..."
    inside = getattr(source.function(statement), "name", "") if source is not None and statement is not None else ""
    where = f"before the loop that calls {inside}()" if inside and not diff else "before the loop"
    return mend(f"make the optimizer once, {where}", diff, f"{line}  # once", "consent")


def _before_loop(source: Source, r: Rebuilt) -> str:
    statement = statement_at(source, r.built_at)
    loops = source.loops(statement) if statement is not None else []
    if statement is None or not loops:
        return ""
    removal = without(source, statement)
    return source.diff(removal, source.before(loops[-1], source.segment(statement))) if removal is not None else ""
