"""Gradients are not cleared between optimizer steps, so each step uses the sum of all gradients so far.

## What happens

`backward()` adds to `.grad`; nothing clears it but `zero_grad()`. Without that, step n follows the sum of n gradients: a momentum
that never forgets. The effective step grows with every batch, the loss swings or diverges; under Adam, which rescales, it may
even fall, only worse than it could.

## How we know

Proof: at each step it is observed whether the gradient that the step before used was still there, unchanged, when the next backward
added to it. It needs no curve and no threshold on the loss.

## Looks like it but is not

- Gradient accumulation: several backward passes, then one step, then a clear. The gradient is cleared after the step.
- Clearing by hand (`p.grad = None`, `p.grad.zero_()`), through the module (`model.zero_grad()`), or by replacing `.grad`.
- In a GAN the generator's loss leaves gradients in the discriminator, which are cleared before the discriminator's own backward.
- Closures (LBFGS) that clear inside.

## Fix

`optimizer.zero_grad()` before each backward; with accumulation, right after each step.

## References

- https://docs.pytorch.org/tutorials/recipes/recipes/zeroing_out_gradients.html
- https://github.com/pytorch/pytorch/issues/47175
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from sickbay.causes.evidence import listed, located, proof, strong
from sickbay.causes.registry import cause
from sickbay.facts import Loss, Optimizer
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Edit, Source, mend, source_at
from sickbay.script.naming import optimizer_name
from sickbay.script.said_twice import said_twice
from sickbay.script.uncalled import call_it, uncalled_at
from sickbay.signs import Signs

MINIMUM = 3
"""Stale intervals before anything is said: a run may legitimately carry one gradient over (the last, shorter group of an epoch)."""
MOSTLY = 0.5
SOMETIMES = 0.15


@cause(
    code="P302",
    level="procedure",
    title="gradients are never cleared between steps",
    why="Each step follows the sum of all gradients since the start, so steps grow, overshoot and keep following batches long gone.",
    explains={
        "diverging-loss", "oscillating-loss", "loss-spikes", "gradient-spike", "update-ratio-high", "nonfinite-loss", "nonfinite-gradient", "flat-loss",
        "slow-descent", "early-plateau", "dead-units", "saturated-units", "val-rising", "val-flat-from-start", "train-val-gap", "chance-level",
        "gradient-growth-with-depth", "gradient-decay-with-depth", "lr-too-high", "dead-relu", "vanishing-gradient", "overfitting", "unscaled-input",
        "lr-too-low", "weight-drift",
    },
    cure="zero-grad",
)  # fmt: skip
def missing_zero_grad(record: Record, signs: Signs) -> Iterator[Evidence]:
    for optimizer in _stale(record):
        share = optimizer.stale_intervals / max(optimizer.intervals, 1)
        which = f" of {listed(list(optimizer.stale_parameters))}" if optimizer.stale_parameters else ""
        called = _called(optimizer, record)
        size = f" (its norm reached {optimizer.stale_norm:.3g})" if optimizer.stale_norm else ""
        text = (
            f"before {optimizer.stale_intervals:,} of {optimizer.intervals:,} steps of `{optimizer_name(record, optimizer)}` the old gradient{which} was still there "
            f"and backward added to it{size}; {called}"
        )
        steps = (optimizer.stale_first or 0, optimizer.stale_last or record.facts.run.steps)
        kind = proof if share >= MOSTLY else strong
        yield kind(text, _place(record, optimizer), steps, share=share, stale=optimizer.stale_intervals)


def _stale(record: Record) -> list[Optimizer]:
    return [o for o in record.facts.optimizers if _is_stale(record, o)]


def _is_stale(record: Record, o: Optimizer) -> bool:
    if o.stale_intervals < MINIMUM or o.stale_intervals < SOMETIMES * o.intervals or o.stale_norm == 0:
        return False
    # Several losses in turn (GAN): another loss's backward adds to gradients that are cleared before this optimizer's own.
    return len(record.facts.losses) < 2 or bool(o.stale_parameters) or o.zero_calls < MOSTLY * o.intervals


def _called(o: Optimizer, record: Record) -> str:
    if o.zero_calls == 0:
        return "zero_grad is never called on it"
    watched = f"{o.observed_steps:,} steps that were watched" if 0 < o.observed_steps < o.steps else f"{o.steps:,} steps"
    return f"zero_grad is called {o.zero_calls:,} times in {watched}{located(o.zeroed_at, ', at')}"


def _loss(record: Record, o: Optimizer) -> Loss | None:
    return next((x for x in record.facts.losses if o.index in x.optimizers), None)


def _place(record: Record, o: Optimizer) -> Place | None:
    """The call that clears only a part or too seldom, or lost its parentheses; else the backward that adds, or the step where several losses add (a GAN's two).
    Where the gradients of several passes are meant to add up, clearing them once per epoch is no mistake, and the step lacks one of its own."""
    loss = _loss(record, o)
    backward = (loss.backward_at if loss is not None else None) or o.stepped_at
    own_call = (
        o.zeroed_at if o.zeroed_at is not None and "zero_grad" in (o.zeroed_at.text or "zero_grad") else None
    )  # a trainer's own is not the user's
    meant = _meant_for_it(record, o)
    if own_call is not None and _accumulates(o) and not o.stale_parameters and o.zero_calls < MOSTLY * o.intervals:
        own_call = o.stepped_at
    named = own_call or (meant[0].place(meant[1].lineno) if meant is not None else None) or uncalled_at(record, backward, "zero_grad")
    return named or (o.stepped_at if _from_several_losses(record, o) else None) or backward


def _from_several_losses(record: Record, o: Optimizer) -> bool:
    """What the step follows is the sum of what several lines add, each of them rightly."""
    return sum(bool(_reached(loss).intersection(o.parameters)) for loss in record.facts.losses) > 1


def _reached(loss: Loss) -> set[str]:
    """Weights that it adds gradients to; those behind a `detach` only took part."""
    return {m.parameter for m in loss.linear_maps if m.trainable} - {name for cut in loss.cuts for name in cut.parameters}


def _accumulates(o: Optimizer) -> bool:
    return (o.backwards_per_step or 1) > 1.5


def _meant_for_it(record: Record, o: Optimizer) -> tuple[Source, ast.expr] | None:
    """Another optimizer whose gradients are cleared twice in a row, while nobody clears this one's."""
    source = source_at(record, o.stepped_at)
    step = source.statement(o.stepped_at.line) if source is not None and o.stepped_at is not None else None
    if source is None or step is None or o.zero_calls:
        return None
    around = next(iter(source.loops(step)), source.function(step))
    twice = said_twice(source, "zero_grad", around, {optimizer_name(record, other) for other in record.facts.optimizers if other.index != o.index})
    return (source, twice[0]) if twice else None


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    optimizer = next(iter(_stale(record)), None)
    if optimizer is None:
        return Fix("clear the gradients before each backward", "optimizer.zero_grad()")
    if optimizer.zeroed_at is None and (parentheses := call_it(record, optimizer.stepped_at, "zero_grad")) is not None:
        return parentheses
    if (meant := _meant_for_it(record, optimizer)) is not None:
        source, name = meant[0], optimizer_name(record, optimizer)
        return mend(f"clear the gradients of `{name}` here", source.diff(source.replacing(meant[1], name)), f"{name}.zero_grad()")
    line = f"{optimizer_name(record, optimizer)}.zero_grad()"
    accumulates = _accumulates(optimizer)
    diff = "" if accumulates else _before_backward(record, optimizer, line)
    if not diff:
        stepping = source_at(record, optimizer.stepped_at)
        diff = stepping.diff(_after_step(stepping, optimizer.stepped_at, line)) if stepping is not None else ""
    text = "clear the gradients after each step" if accumulates else "clear the gradients before each backward"
    return mend(text, diff, f"{line}\nloss.backward()" if not accumulates else f"{line}  # right after the step")


def _before_backward(record: Record, optimizer: Optimizer, line: str) -> str:
    """Only where the optimizer is known by that name: backward and step are in the same function."""
    loss = _loss(record, optimizer)
    place, stepped = (loss.backward_at if loss is not None else None), optimizer.stepped_at
    source = source_at(record, place)
    if source is None or place is None or stepped is None or place.file != stepped.file:
        return ""
    backward, step = source.statement(place.line), source.statement(stepped.line)
    if (
        backward is None
        or step is None
        or source.function(backward) is not source.function(step)
        or source.loops(backward)[:1] != source.loops(step)[:1]
    ):
        return ""
    return source.diff(source.before(backward, line))


def _after_step(source: Source, place: Place | None, line: str) -> Edit | None:
    statement = source.statement(place.line if place else None)
    return source.after(statement, line) if statement is not None else None
