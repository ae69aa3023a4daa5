"""A step is made of very many tiny operations where a few large ones would do.

## What happens

A loop in Python goes through the samples of a batch, or through pixels, words, pairs or nodes, and calls torch for each of them. Every call costs its microseconds however little it
works on, again in the backward pass, and on a GPU it is a kernel that leaves the device idle. The result is right, and it takes ten or a hundred times as long as one call on
the whole batch.

## How we know

On the steps that are followed operation by operation, the same lines come dozens of times or more, on parts of a tensor that was there before the loop, with results of one shape. What each
of them was made from is known: no round uses what another one made, except that results are gathered in a sum, a list or a tensor. So one operation on the whole could do it.
The time of these operations is taken one by one, and each is close to the price of a call on this machine, which is measured with a handful of numbers. Together
with their part of the backward pass they make up most of a step, as steps take that are not followed.

## Looks like it but is not

- Recurrences: cells of an RNN, decoding word by word, unrolled optimization, steps of an ODE, tables that are filled from their own entries. A round needs the one before.
- Loops over a few things (heads, layers) and over things with weights of their own (an ensemble, one embedding per column).
- Micro-batches with a backward pass each, gradients of single samples that are asked for, rollouts in an environment.
- Samples of different sizes, which cannot simply be put together.
- Loops over large pieces: their operations take far longer than a call costs.
- A small model whose step is just short, or a deep one with thousands of operations that follow from each other.
- A slow loader: that is `input-bound`.

## Fix

Give the whole tensor to the model or the function: nearly every operation of torch takes a batch. Pairs become a matrix product, `torch.cdist` or a broadcast difference
(`x[:, None] - x[None, :]`); single entries are taken by indexing with tensors, `gather` or `torch.where`; a model that only takes one sample is batched by `torch.vmap`.

## References

- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
- https://docs.pytorch.org/docs/stable/generated/torch.vmap.html
- https://horace.io/brrr_intro.html (overhead-bound programs).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sickbay.causes.evidence import at, hint, listed, proof
from sickbay.causes.registry import cause
from sickbay.facts import Loop
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.script.whole import diff_of, expression_of, pairs_of
from sickbay.signs import Signs

STEPS = 20
LOOKS, ALWAYS = 3, 0.6
"""Steps that were followed, and how many of them must have the loop: an evaluation now and then may go through its data in a loop of any length."""
SHARE = 0.4
"""Of a step, what the operations of the loop take by themselves. Python between them, which goes with the loop too, comes on top: where nothing but such a loop is run, they
are 0.55 to 0.9 of a step (measured on the patients, also on a busy machine)."""
MANY = 0.5
"""Of all operations of a step."""
TINY = 12.0
"""Times the price of a call. A linear layer on one sample takes six times as long as the product of two small tensors; convolutions of single images take twenty times as long and more, and
gain little by being put together on a CPU."""
PAUSE = 5.0
"""Times the usual step: evaluations, checkpoints, the end of an epoch."""
TOTAL = 1.0
"""Seconds in all: less is not worth a word."""


@cause(
    code="S504",
    level="system",
    title="a loop runs very many tiny operations",
    why="Each call costs its time however little it works on, so that the run takes many times as long as it needs.",
)
def kernel_bound(record: Record, signs: Signs) -> Iterator[Evidence]:
    loop = next(iter(record.facts.loops), None)
    steps = np.asarray(record.series("time/step").values, float)
    if loop is None or len(steps) < STEPS or loop.found < max(LOOKS, ALWAYS * loop.looks):
        return
    whole = _usual(steps)
    seconds = loop.seconds + loop.attached * _usual(np.asarray(record.series("time/backward").values, float))
    share = min(seconds / max(whole, 1e-9), 1.0)
    if share < SHARE or loop.operations < MANY * loop.total or loop.each_seconds > TINY * loop.smallest_seconds:
        return
    if share * (record.facts.run.training_seconds or float(steps.sum())) < TOTAL:
        return
    yield proof(_told(loop), loop.place, None, operations=loop.operations, rounds=loop.rounds)
    yield hint(
        f"these calls take about {100 * share:.0f} % of a step of {1000 * whole:.3g} ms: {1e6 * loop.each_seconds:.2g} µs each, where a call on a handful of numbers "
        f"takes {1e6 * loop.smallest_seconds:.2g} µs on this machine",
        share=share,
    )


def _told(loop: Loop) -> str:
    more = "more than " if loop.truncated else ""
    numbers = "one number" if loop.numbers <= 1 else f"{loop.numbers:,} numbers"
    return (
        f"{more}{loop.total:,} operations per step, {100 * loop.operations / max(loop.total, 1):.0f} % of them ({listed(loop.kinds, 3)}) in {loop.rounds:,} rounds of the loop at "
        f"{at(loop.loop)}, each on about {numbers}; no round needs what another one made, so one call on the whole does the same"
    )


def _usual(seconds: NDArray[np.float64]) -> float:
    """The mean without pauses. Not the median: other work on the machine interrupts single calls and whole steps alike, and only means count it in both."""
    kept = seconds[seconds <= PAUSE * np.median(seconds)]
    return float(kept.mean()) if len(kept) else 0.0


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    place = next((loop.loop for loop in record.facts.loops), None)
    text = "call it once on the whole tensor instead of once per part"
    if diff := diff_of(record, place):
        return Fix(text, diff, "consent")
    if expression := expression_of(record, place):
        return Fix(f"{text}; reductions such as a mean then go over the whole batch", expression, "advice")
    if pairs := pairs_of(record, place):
        a, b = pairs
        every = f"{a}[:, None] - {b}[None, :]        # every pair at once; likewise {a} @ {b}.T, torch.cdist({a}, {b})"
        return Fix("work out all pairs at once, by a matrix product or by broadcasting", every, "advice")
    return Fix(
        f"{text}: a batch dimension, a matrix product, `torch.cdist`, broadcasting, `gather`, `torch.where`, or `torch.vmap` of what a round does",
        "torch.vmap(one_round)(x)          # in place of: for i in range(len(x)): one_round(x[i])",
        "advice",
    )
