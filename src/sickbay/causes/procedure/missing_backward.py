"""The optimizer steps, but no backward pass ever computes a gradient.

## What happens

`step()` skips every parameter whose `.grad` is None. Without `loss.backward()` it does nothing at all, silently.

## How we know

Proof: the whole run made optimizer steps and not one backward pass, and on each step no parameter had a gradient.

## Looks like it but is not

- Gradients computed with `torch.autograd.grad` or written into `.grad` by hand (evolution strategies): parameters have gradients then.

## Fix

Call `loss.backward()` before `optimizer.step()`.

## References

- https://docs.pytorch.org/tutorials/beginner/basics/optimization_tutorial.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sickbay.causes.evidence import proof, times
from sickbay.causes.fixing import mend, source_at
from sickbay.causes.naming import optimizer_name
from sickbay.causes.registry import cause
from sickbay.causes.uncalled import call_it, uncalled_at
from sickbay.facts import Optimizer
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.signs import Signs

MINIMUM_STEPS = 3


@cause(
    code="P308",
    level="procedure",
    title="backward is never called",
    why="Without gradients the optimizer's step does nothing; the weights stay exactly as they were initialised.",
    explains={"flat-loss", "chance-level", "val-flat-from-start", "slow-descent", "missing-optimizer-step", "lr-too-low", "detached-graph"},
    cure="backward-before-step",
)
def missing_backward(record: Record, signs: Signs) -> Iterator[Evidence]:
    for o in _empty(record):
        yield proof(
            f"`{optimizer_name(record, o)}` makes {times(o.steps, 'step')} without any gradient: the run has no backward pass",
            uncalled_at(record, o.stepped_at, "backward") or o.stepped_at,
            steps_made=o.steps,
        )


def _empty(record: Record) -> list[Optimizer]:
    if record.facts.run.backwards or record.facts.run.manual_updates:
        return []
    return [o for o in record.facts.optimizers if o.steps >= MINIMUM_STEPS and o.empty_steps == (o.observed_steps or o.steps)]


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    place = next((o.stepped_at for o in _empty(record)), None)
    if (parentheses := call_it(record, place, "backward")) is not None:
        return parentheses
    source = source_at(record, place)
    statement = source.statement(place.line) if source is not None and place is not None else None
    diff = source.diff(source.before(statement, "loss.backward()")) if source is not None and statement is not None else ""
    return mend("call backward on the loss before the step", diff, "loss.backward()\noptimizer.step()", "consent")
