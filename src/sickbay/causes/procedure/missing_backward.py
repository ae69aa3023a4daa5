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

import ast
from collections.abc import Iterator, Sequence

from sickbay.causes.evidence import proof, times
from sickbay.causes.registry import cause
from sickbay.facts import Optimizer
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Function, Source, mend, receiver, source_at
from sickbay.script.naming import optimizer_name
from sickbay.script.uncalled import call_it, uncalled_at
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
            _place(record, o.stepped_at),
            steps_made=o.steps,
        )


def _empty(record: Record) -> list[Optimizer]:
    if record.facts.run.backwards or record.facts.run.manual_updates:
        return []
    return [o for o in record.facts.optimizers if o.steps >= MINIMUM_STEPS and o.empty_steps == (o.observed_steps or o.steps)]


def _place(record: Record, stepped: Place | None) -> Place | None:
    """Where it should have been called: a line that only names it, a condition under which alone it is, what the closure gives back; else the step."""
    source = source_at(record, stepped)
    found = _condition(source, stepped) or _given_back(source, stepped) if source is not None else None
    here = source.place(found.lineno) if source is not None and found is not None else stepped
    return uncalled_at(record, stepped, "backward") or here


def _condition(source: Source, stepped: Place | None) -> ast.If | None:
    """The `if` around the only backward in the function of the step: it was never true."""
    step = source.statement(stepped.line if stepped is not None else None)
    calls = source.calls("backward", within=source.function(step)) if step is not None else []
    around = [next((a for a in source.ancestors(c) if isinstance(a, (ast.If, Function))), None) for c in calls]
    return around[0] if len(around) == 1 and isinstance(around[0], ast.If) else None


def _given_back(source: Source, stepped: Place | None) -> ast.Return | None:
    """`return loss_of(x)` of the closure that the step is given: the only place where the loss is known."""
    for call in source.calls("step", line=stepped.line if stepped is not None else 0):
        given = call.args[0] if call.args else None
        functions = source.defined.get(given.id, []) if isinstance(given, ast.Name) else []
        returns = [n for f in functions if isinstance(f, Function) for n in ast.walk(f) if isinstance(n, ast.Return) and n.value is not None]
        if len(returns) == 1:
            return returns[0]
    return None


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    place = next((o.stepped_at for o in _empty(record)), None)
    if (parentheses := call_it(record, place, "backward")) is not None:
        return parentheses
    source = source_at(record, place)
    text, diff = "call backward on the loss before the step", ""
    if source is not None and (condition := _condition(source, place)) is not None:
        text, diff = "call backward in the other case, too", _otherwise(source, condition)
    elif source is not None and (returned := _given_back(source, place)) is not None:
        text, diff = "call backward in the closure", _in_closure(source, returned)
    elif source is not None and place is not None and (statement := source.statement(place.line)) is not None:
        diff = source.diff(source.before(statement, "loss.backward()"))
    return mend(text, diff, "loss.backward()\noptimizer.step()", "consent")


def _otherwise(source: Source, condition: ast.If) -> str:
    """`else: loss.backward()`, of what is differentiated in the first case (without its scaling)."""
    owner = receiver(source.calls("backward", within=condition)[0])
    loss = owner.args[0] if isinstance(owner, ast.Call) and owner.args else owner
    if condition.orelse or loss is None:
        return ""
    return source.diff(source.after(condition, "else:"), source.after(condition, f"    {source.segment(loss)}.backward()"))


def _in_closure(source: Source, returned: ast.Return) -> str:
    if returned.value is None:
        return ""
    if isinstance(returned.value, ast.Name):
        return source.diff(source.before(returned, f"{returned.value.id}.backward()"))
    lines = [source.before(returned, f"loss = {source.segment(returned.value)}"), source.before(returned, "loss.backward()")]
    return source.diff(*lines, source.replacing(returned.value, "loss"))
