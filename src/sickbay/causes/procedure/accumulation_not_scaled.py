"""The gradients of several backward passes are summed for one step, and nothing divides the sum by their number.

## What happens

`backward()` adds up. With k micro-batches per step the gradient is the sum of k means, k times that of the large batch they stand for, so
the learning rate acts as if it were k times larger. With plain SGD or momentum that overshoots or diverges; and the
right rate changes whenever k does. Adam and its kin divide by the gradient's running size and hardly notice.

## How we know

Proof: the same loss is differentiated k times, from the same line, between one step and the next; autograd's own graph shows that it is a mean over its
batch which nothing multiplies by about 1/k, and the gradient was not divided before the step either (measured after the last backward and when
the step begins).

## Looks like it but is not

- `loss / k`, a mean over stacked losses, dividing the gradients by hand: the factor is seen.
- Sums: `reduction="sum"`, or one sample per backward pass. Adding up is then the definition of the loss.
- Several losses that each have their own backward (GANs, several heads): they come from other lines or reach other weights. A loop over a
  named collection (`for task in tasks:`) counts only if training is in trouble.
- Clipping that brings the sum down to the same norm on every step.

## Fix

Divide the loss by the number of backward passes per step.

## References

- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation (`loss = loss / iters_to_accumulate`).
- Goyal et al. 2017, section 3.1 (the rate must follow the size of the batch, and the mean over it).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from sickbay.causes.adaptive import optimizer_of, rescales
from sickbay.causes.evidence import hint, located, proof
from sickbay.causes.registry import cause
from sickbay.facts import Accumulation, Loss
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.script.fixing import Source, called, mend, receiver, source_at
from sickbay.script.moving import statement_at
from sickbay.signs import Signs

MINIMUM_STEPS = 5
REGULAR = 0.7
"""Share of steps with the same number of backward passes: the last group of an epoch may be shorter."""
UNSCALED = 0.6
"""At least this share of the full factor k is left: less, and something (clipping, dividing) does bring the sum down."""

TROUBLE = (
    "diverging-loss", "oscillating-loss", "loss-spikes", "update-ratio-high", "nonfinite-loss", "nonfinite-gradient", "flat-loss", "chance-level", "early-plateau",
    "slow-descent",
)  # fmt: skip


@cause(
    code="P315",
    level="procedure",
    title="accumulated gradients are summed, not averaged",
    why="Each step follows the sum of several gradients, so the learning rate acts as if it were that many times larger.",
    explains={
        "lr-too-high", "diverging-loss", "oscillating-loss", "loss-spikes", "gradient-spike", "update-ratio-high", "nonfinite-loss", "nonfinite-gradient", "flat-loss",
        "early-plateau", "slow-descent", "chance-level", "dead-units", "saturated-units", "dead-relu", "val-flat-from-start", "val-rising", "gradient-growth-with-depth",
        "gradient-decay-with-depth", "small-gradients", "vanishing-gradient", "weight-drift",
    },
    cure="scale-accumulation",
)  # fmt: skip
def accumulation_not_scaled(record: Record, signs: Signs) -> Iterator[Evidence]:
    for a in _unscaled(record):
        loss, optimizer = _loss(record, a), optimizer_of(record, a.optimizer)
        place = loss.backward_at if loss is not None else None
        factor = a.backwards * (a.scale or 1.0) * (a.kept if a.kept is not None else 1.0)
        text = (
            f"{a.backwards} backward passes{located(place)} go into each step and nothing divides by {a.backwards}: "
            f"each loss is {_words(a)}, so the step follows {factor:.3g} times the mean gradient ({a.regular:,} of {a.steps:,} steps seen)"
        )
        if _over_things(record, loss) and not signs.has(*TROUBLE):
            yield hint(f"{text}; the loop may go over tasks whose losses are meant to be added", place, backwards=a.backwards, factor=factor)
        elif rescales(optimizer):
            yield hint(f"{text}; {optimizer.kind if optimizer else ''} rescales it away", place, backwards=a.backwards, factor=factor)
        else:
            yield proof(text, place, backwards=a.backwards, factor=factor)


def _words(a: Accumulation) -> str:
    rows = f" over {a.rows} samples" if a.rows else ""
    return f"a plain mean{rows}" if a.scale is not None and abs(a.scale - 1) < 0.01 else f"{a.scale:.3g} times a mean{rows}"


def _unscaled(record: Record) -> list[Accumulation]:
    return [a for a in record.facts.accumulations if _is_unscaled(a)]


def _is_unscaled(a: Accumulation) -> bool:
    regular = a.backwards >= 2 and a.steps >= MINIMUM_STEPS and a.regular >= REGULAR * a.steps
    # One sample each: the sum over samples is a way to write the loss. Several losses from one forward pass are terms of one sum.
    micro_batches = a.rows != 1 and not a.retained
    return regular and micro_batches and a.scale is not None and a.scale * (a.kept if a.kept is not None else 1.0) >= UNSCALED


def _over_things(record: Record, loss: Loss | None) -> bool:
    """The backward is in a loop over a collection with a name (`for task in tasks:`), with the step outside of it: a sum over what it holds may be
    meant. Counting (`range(k)`), cutting up (`batch.chunk(k)`) and stepping on every k-th round are accumulation."""
    source = source_at(record, loss.backward_at) if loss is not None else None
    statement = statement_at(source, loss.backward_at) if source is not None and loss is not None else None
    loops = source.loops(statement) if source is not None and statement is not None else []
    if source is None or not loops or not isinstance(loops[0], ast.For) or source.calls("step", within=loops[0]):
        return False
    over = loops[0].iter
    if isinstance(over, ast.Call) and called(over) == "enumerate" and over.args:
        over = over.args[0]
    plain = isinstance(over, (ast.Name, ast.Attribute, ast.List, ast.Tuple)) or (
        isinstance(over, ast.Call) and called(over) in ("items", "values", "zip")
    )
    return plain and not any(word in ast.unparse(over).lower() for word in ("micro", "chunk", "split", "accum"))


def _loss(record: Record, a: Accumulation) -> Loss | None:
    return next((x for x in record.facts.losses if x.index == a.loss), None)


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    a = next(iter(_unscaled(record)), None)
    count = a.backwards if a is not None else 0
    loss = _loss(record, a) if a is not None else None
    source = source_at(record, loss.backward_at) if loss is not None else None
    diff = _divided(source, loss, count) if source is not None and loss is not None else ""
    text = f"divide the loss by the {count or 'number of'} backward passes per step"
    return mend(text, diff, f"(loss / {count or 'accumulation_steps'}).backward()", "consent")


def _divided(source: Source, loss: Loss, count: int) -> str:
    place = loss.backward_at
    calls = source.calls("backward", line=place.line if place is not None else None)
    owner = receiver(calls[0]) if len(calls) == 1 else None
    if not isinstance(owner, (ast.Name, ast.Attribute)):
        return ""
    return source.diff(source.replacing(owner, f"({source.segment(owner)} / {_steps_name(source, loss, count)})"))


def _steps_name(source: Source, loss: Loss, count: int) -> str:
    """The user's own name for k: the right side of the `%` that decides when to step, or what the inner loop counts to."""
    statement = statement_at(source, loss.backward_at)
    for loop in source.loops(statement)[:1] if statement is not None else []:
        for node in ast.walk(loop):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.right, (ast.Name, ast.Attribute)):
                return source.segment(node.right)
        if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and len(loop.iter.args) == 1 and ast.unparse(loop.iter.func) == "range":
            only = loop.iter.args[0]
            if isinstance(only, (ast.Name, ast.Attribute)):
                return source.segment(only)
    return str(count)
