"""Gradients are computed, but no optimizer step ever uses them.

## What happens

`backward()` fills `.grad`; only `step()` changes weights. When the call is missing, sits in a branch that is never taken, lacks its
parentheses, or is made on another optimizer, the loss wanders with the batches around its starting value.

## How we know

Proof: an optimizer holds parameters that backward passes reach, the whole run made no step with it, and the weights did not change by
a single bit.

## Looks like it but is not

- Weights updated by hand, without an optimizer: they move.
- A wrapper that steps another optimizer over the same parameters: they move.
- A second optimizer that is only built, over parameters that no loss reaches.
- A run stopped in the middle of its first accumulation: too few backward passes to judge.

## Fix

Call `optimizer.step()` after the backward pass.

## References

- https://docs.pytorch.org/docs/stable/optim.html#taking-an-optimization-step
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import takewhile

from sickbay.causes.evidence import located, proof, times
from sickbay.causes.parameters import named
from sickbay.causes.registry import cause
from sickbay.facts import Loss, Optimizer
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Edit, Function, Source, called, mend, receiver, source_at
from sickbay.script.moving import moved_after
from sickbay.script.naming import optimizer_name
from sickbay.script.said_twice import said_twice
from sickbay.script.uncalled import uncalled
from sickbay.signs import Signs

MINIMUM_BACKWARDS = 3
UNFINISHED_BACKWARDS = 100
"""A run that did not end by itself may be in its first accumulation; few accumulate over more than a hundred batches."""


@cause(
    code="P303",
    level="procedure",
    title="the optimizer never makes a step",
    why="Gradients are computed and thrown away; the weights stay exactly as they were initialised.",
    explains={
        "flat-loss", "slow-descent", "oscillating-loss", "loss-spikes", "chance-level", "early-plateau", "val-flat-from-start", "small-gradients",
        "gradient-spike", "dead-units", "lr-too-low", "missing-zero-grad", "vanishing-gradient", "dead-relu", "gradient-decay-with-depth",
        "update-ratio-low", "diverging-loss", "unscaled-input",
    },
    cure="step-after-backward",
)  # fmt: skip
def missing_optimizer_step(record: Record, signs: Signs) -> Iterator[Evidence]:
    run = record.facts.run
    ended = run.finished and run.exit in (0, None)
    if run.manual_updates or run.backwards < (MINIMUM_BACKWARDS if ended else UNFINISHED_BACKWARDS):
        return
    for optimizer in _idle(record):
        loss = _loss(record, optimizer)
        backwards = loss.backwards if loss is not None else run.backwards
        yield proof(
            f"{times(backwards, 'backward pass')} reach the parameters of `{optimizer_name(record, optimizer)}` ({optimizer.kind}), "
            f"but its step is never called; not one weight has changed",
            _place(record, optimizer, loss),
            backwards=backwards,
        )


def _place(record: Record, optimizer: Optimizer, loss: Loss | None) -> Place | None:
    """The line that should have made the step: one that only names it, steps another optimizer or a scheduler instead, or asks for what never comes;
    else the step of another optimizer beside which it belongs, or the backward."""
    backward = loss.backward_at if loss is not None else None
    source = source_at(record, backward)
    if source is not None:
        name = optimizer_name(record, optimizer)
        bare, wrong, present = _bare(source, name), _wrong(source, backward, name, record, optimizer), _present(source, name)
        line = bare.lineno if bare is not None else source.line_of(wrong) if wrong is not None else _condition(source, present)
        if line is not None:
            return source.place(line)
        if (beside := _beside(source, backward, record)) is not None:
            return source.place(beside.lineno)
    return _scheduled(record, optimizer) or backward or optimizer.built_at


def _condition(source: Source, line: int | None) -> int | None:
    """The `if` around a step that is never reached, or the line in it that the condition waits for; else the step's own line."""
    around = _waits(source, line)
    waited_for = _counted_inside(source, around) if around is not None else None
    return waited_for.lineno if waited_for is not None else around.lineno if around is not None else line


def _waits(source: Source, line: int | None) -> ast.If | None:
    step = source.statement(line)
    around = next((a for a in source.ancestors(step) if isinstance(a, (ast.If, Function))), None) if step is not None else None
    return around if isinstance(around, ast.If) else None


def _counted_inside(source: Source, condition: ast.If) -> ast.stmt | None:
    """`n += 1` under `if n % 4 == 3:`, and nowhere else in the loop: what is waited for happens only when it has come."""
    names = {ast.unparse(n) for n in ast.walk(condition.test) if isinstance(n, (ast.Name, ast.Attribute))}
    loop = next(iter(source.loops(condition)), None)
    counted = [n for n in ast.walk(loop) if isinstance(n, ast.AugAssign) and ast.unparse(n.target) in names] if loop is not None else []
    return counted[0] if len(counted) == 1 and counted[0] in condition.body else None


def _scheduled(record: Record, optimizer: Optimizer) -> Place | None:
    """The line that steps its scheduler, where it alone is stepped."""
    stepped = [s.stepped_at for s in record.facts.schedulers if s.optimizer == optimizer.index and s.stepped_at is not None]
    return stepped[0] if len(stepped) == 1 else None


def _idle(record: Record) -> list[Optimizer]:
    """Optimizers that never stepped though gradients are computed for what they hold, and nothing else moved it."""
    idle = []
    for o in record.facts.optimizers:
        parameters = [p for p in named(record, o.parameters) if p.trainable]
        # Clearing its gradients in a loop says that it is meant to train, even if no backward pass was followed closely.
        reached = any(p.reached for p in parameters) or (bool(parameters) and o.zeroed_at is not None)
        # A parameter may be held by two optimizers: the one that steps shows in `moved`.
        if o.steps == 0 and reached and not any(p.moved for p in parameters):
            idle.append(o)
    return idle


def _loss(record: Record, optimizer: Optimizer) -> Loss | None:
    """The loss whose gradients it should have used: its own, one that no optimizer uses, or the only one."""
    losses = record.facts.losses
    own = [x for x in losses if optimizer.index in x.optimizers] or [x for x in losses if not x.optimizers]
    if own:
        return own[-1]
    # A wrong optimizer was stepped after this loss: the last one that began, when the idle optimizer was built later.
    return losses[-1] if losses else None


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    optimizer = next(iter(_idle(record)), None)
    if optimizer is None:
        return Fix("call step after backward", "optimizer.step()")
    name = optimizer_name(record, optimizer)
    loss = _loss(record, optimizer)
    place = loss.backward_at if loss is not None else None
    source = source_at(record, place)
    text, diff = "call step after backward", ""
    if source is not None:
        bare, wrong = _bare(source, name), _wrong(source, place, name, record, optimizer)
        if bare is not None:
            text, diff = "call step: without parentheses it is only named", source.diff(source.replacing(bare, source.segment(bare) + "()"))
        elif wrong is not None:
            text, diff = f"step `{name}`, the optimizer that holds this model's parameters", source.diff(wrong)
        elif (present := _present(source, name)) is not None:
            if diff := _counted_outside(source, present):
                return mend("count every batch, not only those on which the step is made", diff, "", "consent")
            return Fix(
                f"`{name}.step()` is there{located(Place(file=source.file, line=present))}, but this line is never reached: correct the condition around it",
                "",
                "advice",
            )
        else:
            beside = _beside(source, place, record)
            diff = source.diff(source.after(beside, f"{name}.step()") if beside is not None else _insertion(source, place, f"{name}.step()"))
    return mend(text, diff, f"loss.backward()\n{name}.step()")


def _counted_outside(source: Source, line: int) -> str:
    around = _waits(source, line)
    counted = _counted_inside(source, around) if around is not None else None
    return moved_after(source, counted, around) if counted is not None else ""


def _bare(source: Source, name: str) -> ast.expr | None:
    return uncalled(source, "step", "" if name == "optimizer" else name)


def _wrong(source: Source, place: Place | None, name: str, record: Record, idle: Optimizer) -> Edit | None:
    """Another optimizer's step in its place: one right after this backward that found no gradient to use, or the second of two in a row."""
    others = {optimizer_name(record, o): o for o in record.facts.optimizers if o.index != idle.index}
    backward = source.statement(place.line if place else None)
    if backward is None:
        return None
    around = next(iter(source.loops(backward)), source.function(backward))
    steps = [(c, owner) for c in source.calls("step", within=around) if (owner := receiver(c)) is not None and source.segment(owner) in others]
    empty = [owner for _, owner in steps if others[source.segment(owner)].empty_steps]
    again = said_twice(source, "step", around, others)
    return source.replacing((empty or again)[0], name) if empty or again else None


def _present(source: Source, name: str) -> int | None:
    for call in source.calls("step"):
        owner = receiver(call)
        if owner is not None and source.segment(owner) == name:
            return call.lineno
    return None


def _beside(source: Source, place: Place | None, record: Record) -> ast.stmt | None:
    """The last step of other optimizers that follows the same backward: the missing one belongs next to it."""
    backward = source.statement(place.line if place else None)
    names = {optimizer_name(record, o) for o in record.facts.optimizers if o.steps}
    following = source.block(backward)[source.block(backward).index(backward) + 1 :] if backward is not None else []
    own = list(takewhile(lambda s: not source.calls("backward", within=s), following))
    called_on = [(s, receiver(s.value)) for s in own if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call) and called(s.value) == "step"]
    steps = [s for s, owner in called_on if owner is not None and source.segment(owner) in names]
    return steps[-1] if steps else None


def _insertion(source: Source, place: Place | None, line: str) -> Edit | None:
    """After backward, or after the clipping that follows it."""
    statement = source.statement(place.line if place else None)
    if statement is None:
        return None
    block = source.block(statement)
    following = block[block.index(statement) + 1 :]
    if following and source.calls("clip_grad_norm_", "clip_grad_value_", within=following[0]):
        statement = following[0]
    return source.after(statement, line)
