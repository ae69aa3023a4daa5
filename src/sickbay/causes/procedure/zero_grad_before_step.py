"""Gradients are cleared between backward and step, so that the step finds none.

## What happens

The order is backward, zero_grad, step: each gradient is computed and thrown away before it is used. The weights do not move (or only by
weight decay and old momentum).

## How we know

Proof: in the order of calls between steps, a zero_grad stands after the last backward and before the step, on (nearly) every step, and
the steps found no gradient or the weights did not change.

## Looks like it but is not

- Several optimizers: clearing another one's gradients between this one's backward and step is fine; then only steps that found no
  gradient at all count.

## Fix

Clear before backward: zero_grad, backward, step.

## References

- https://docs.pytorch.org/docs/stable/optim.html#taking-an-optimization-step
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from sickbay.causes.evidence import located, proof
from sickbay.causes.parameters import named
from sickbay.causes.registry import cause
from sickbay.facts import Optimizer
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Source, called, mend, receiver, source_at
from sickbay.script.guesses import guess
from sickbay.script.naming import optimizer_name
from sickbay.script.prepared import guessed
from sickbay.signs import Signs

MINIMUM_STEPS = 3
NEARLY_ALL = 0.9


@cause(
    code="P309",
    level="procedure",
    title="gradients are cleared before the step uses them",
    why="Each gradient is thrown away before the optimizer sees it, so the weights do not learn.",
    explains={
        "flat-loss",
        "chance-level",
        "val-flat-from-start",
        "slow-descent",
        "small-gradients",
        "lr-too-low",
        "update-ratio-low",
        "vanishing-gradient",
    },
    cure="zero-grad",
)
def zero_grad_before_step(record: Record, signs: Signs) -> Iterator[Evidence]:
    for o in _emptied(record):
        seen = o.observed_steps or o.steps
        text = (
            f"zero_grad{located(o.zeroed_at)} runs after backward and before `{optimizer_name(record, o)}.step()`: {o.empty_steps or seen:,} of {seen:,} steps had no gradient"
            if not _by_hand(o)
            else f"gradients are there after backward and exactly zero when `{optimizer_name(record, o)}.step()` runs: "
            f"they are cleared in between ({o.emptied_by_hand:,} times seen)"
        )
        yield proof(
            text,
            o.zeroed_at or _cleared_by_hand(record, o) or o.stepped_at,
            empty=o.empty_steps,
            steps_made=o.steps,
        )


def _emptied(record: Record) -> list[Optimizer]:
    ordered = _cleared_in_between(record) or _cleared_between_steps(record)
    return [o for o in record.facts.optimizers if o.steps >= MINIMUM_STEPS and ((ordered and _found_nothing(record, o)) or _by_hand(o))]


def _by_hand(o: Optimizer) -> bool:
    """No zero_grad was called, but gradients that backward had made were zero when the step came, every time it was looked at."""
    return o.emptied_by_hand >= MINIMUM_STEPS


@guess
def _cleared_by_hand(record: Record, o: Optimizer) -> Place | None:
    """The one statement between backward and step that sets gradients to zero or None, itself or by a function of the script's own."""
    source = source_at(record, o.stepped_at)
    backward = next((x.backward_at for x in record.facts.losses if o.index in x.optimizers and x.backward_at), None)
    if source is None or o.stepped_at is None or backward is None or backward.file != o.stepped_at.file:
        return None
    step, back = source.statement(o.stepped_at.line), source.statement(backward.line)
    block = source.block(step) if step is not None else []
    between = block[block.index(back) + 1 : block.index(step)] if step is not None and back in block else []
    found = [s for s in between if any(_empties(n) for n in (s, *_called_in(source, s)))]
    return guessed(source, found[0]) if len(found) == 1 else None


def _called_in(source: Source, statement: ast.stmt) -> list[ast.AST]:
    return [f for c in source.calls(within=statement) for f in source.defined.get(called(c), ())]


def _empties(node: ast.AST) -> bool:
    """`p.grad = None`, `p.grad.zero_()`, `p.grad *= 0`."""
    for n in ast.walk(node):
        targets = n.targets if isinstance(n, ast.Assign) else [n.target] if isinstance(n, ast.AugAssign) else []
        if any(isinstance(t, ast.Attribute) and t.attr == "grad" for t in targets):
            return True
        owner = receiver(n) if isinstance(n, ast.Call) and called(n) in ("zero_", "fill_", "mul_") else None
        if owner is not None and "grad" in ast.unparse(owner):
            return True
    return False


def _found_nothing(record: Record, o: Optimizer) -> bool:
    parameters = named(record, o.parameters)
    if not any(p.reached for p in parameters):
        return False
    still = bool(parameters) and all(p.moved is False for p in parameters)
    return o.empty_steps >= NEARLY_ALL * (o.observed_steps or o.steps) > 0 or (len(record.facts.optimizers) == 1 and still)


def _cleared_in_between(record: Record) -> bool:
    """The share of call patterns in which a zero_grad stands between the last backward and the step."""
    patterns = [p for p in record.facts.timeline.patterns if "step" in p.calls]
    bad = sum(p.count for p in patterns if _clears_after_backward(p.calls))
    return bool(patterns) and bad >= NEARLY_ALL * sum(p.count for p in patterns)


def _cleared_between_steps(record: Record) -> bool:
    """With several optimizers, one step may end and gradients be cleared before the next optimizer's own: a stretch of zero_grad and step without any backward."""
    patterns = [p for p in record.facts.timeline.patterns if "step" in p.calls]
    return len(record.facts.optimizers) > 1 and any("backward" not in p.calls and "zero_grad" in p.calls[: p.calls.index("step")] for p in patterns)


def _clears_after_backward(calls: tuple[str, ...]) -> bool:
    before = calls[: calls.index("step")]
    last = max((i for i, c in enumerate(before) if c == "backward"), default=None)
    return last is not None and "zero_grad" in before[last:]


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    optimizer = next(iter(_emptied(record)), None)
    zeroed = (optimizer.zeroed_at or _cleared_by_hand(record, optimizer)) if optimizer is not None else None
    backward = next((x.backward_at for x in record.facts.losses if x.backward_at), None)
    source = source_at(record, zeroed)
    diff = _moved(source, zeroed, backward) if source is not None else ""
    return mend("clear the gradients before backward, not after it", diff, "optimizer.zero_grad()\nloss.backward()\noptimizer.step()")


def _moved(source: Source, zeroed: Place | None, backward: Place | None) -> str:
    clear, back = source.statement(zeroed.line if zeroed else None), source.statement(backward.line if backward else None)
    if (
        clear is None
        or back is None
        or zeroed is None
        or backward is None
        or zeroed.file != backward.file
        or source.parents.get(clear) is not source.parents.get(back)
    ):
        return ""
    text = source.segment(clear)
    removal = source.before(clear, "")
    if removal is None:
        return ""
    start, end = source.line_starts[clear.lineno - 1], source.line_starts[clear.end_lineno or clear.lineno]
    return source.diff(source.before(back, text), type(removal)(start, end, ""))
