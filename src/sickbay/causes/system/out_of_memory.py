"""Memory ran out.

## What happens

A training step needs room for the weights, their gradients, what the optimizer keeps (Adam: two numbers per weight), the batch, and above all for what every layer keeps
of its result until the backward pass, which grows with the batch size. When the device or the machine has no more, the allocation fails, or the
operating system kills the process without a word.

## How we know

Proof: the exception is one with which Python, numpy or torch say that an allocation failed; its size, what the process held by then and the largest variables are told. When the process
was killed (SIGKILL) the last measured memory of the process tells: at more than 80 % of what the machine or container allows, hardly anybody else killed it.

## Looks like it but is not

- A SIGKILL while memory was low: a scheduler's time limit, or a person.
- Memory that grows because graphs are kept (`retained-graph`): that is found by itself and explains this.

## Fix

A smaller batch (with gradient accumulation if the batch size matters), bf16 or checkpointing of the large layers; evaluation under `torch.no_grad()`; no list of tensors that grows.

## References

- https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
- https://docs.pytorch.org/docs/stable/checkpoint.html
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from sickbay.causes.crashes import crash_of, died_of, size, when
from sickbay.causes.evidence import hint, listed, located, strong
from sickbay.causes.registry import cause
from sickbay.facts import MemoryUse
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.script.fixing import is_number, keyword, mend, source_at
from sickbay.script.naming import named_numbers
from sickbay.signs import Signs

NEARLY_FULL = 0.8
"""Share of the memory that the process was last seen to hold. Memory is measured now and then only, and the rest of the machine needs some: at a full machine the last look shows less than
all, at a half-empty one nothing is killed."""
ABSURD = 8
"""A single request of this many times what there is was not meant: a wrong shape, not a batch that is a little too large."""


@cause(
    code="S501",
    level="system",
    title="memory ran out",
    why="The allocation fails or the operating system kills the process, and the run is lost.",
    explains=set(),
    cure=None,
)
def out_of_memory(record: Record, signs: Signs) -> Iterator[Evidence]:
    crash = crash_of(record)
    if crash is not None and crash.memory is not None:
        use = crash.memory
        asked = f"{size(use.requested)} more could not be had" if use.requested else "memory could not be had"
        there = f" ({size(use.available)} in all)" if use.available else ""
        yield died_of(f"{asked}{there}: {crash.kind} {when(crash)}{located(crash.place)}", crash, asked=use.requested or 0)
        if held := _held(use):
            yield hint(f"what was held: {held}")
    elif crash is None and record.facts.run.exit == "SIGKILL" and not record.facts.run.finished:
        yield from _killed(record)


def _killed(record: Record) -> Iterator[Evidence]:
    series, all_of_it = record.series("memory/rss"), record.facts.environment.memory
    if not len(series) or not all_of_it:
        return
    last, first = float(series.values[-1]), float(series.values[0])
    if last >= NEARLY_FULL * all_of_it:
        yield strong(
            f"the process was killed (SIGKILL) when it held {size(last)} of {size(all_of_it)}", None, (int(series.steps[-1]), int(series.steps[-1]))
        )
        if last > 2 * first:
            yield hint(f"it began with {size(first)}: memory grew while it ran")


def _held(use: MemoryUse) -> str:
    parts = [("weights", use.parameters), ("gradients", use.gradients), ("optimizer state", use.optimizer), ("the batch", use.batch)]
    named = [f"{name} {size(n)}" for name, n in parts if n]
    known = sum(n for _, n in parts)
    if use.resident and use.device == "cpu" and use.resident > known:
        named.append(f"results of layers and all else {size(use.resident - known)}")
    largest = [f"`{name}` {size(n)}" for name, n in use.largest[:4]]
    return ", ".join(named) + (f"; the largest variables: {listed(largest, 4)}" if largest else "")


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    crash = crash_of(record)
    use = crash.memory if crash is not None else None
    if use is not None and use.requested and use.available and use.requested > ABSURD * use.available:
        text = f"a single tensor of {size(use.requested)} was asked for: look at the shapes that are multiplied or broadcast on this line before you cut the batch"
        return Fix(text, "print(a.shape, b.shape)", "advice")
    snippet = "for i, (x, y) in enumerate(loader):      # batches of half the size\n    (loss_fn(model(x), y) / 2).backward()\n    if i % 2:\n        optimizer.step(); optimizer.zero_grad()"
    return mend(
        "halve the batch size (accumulate two batches per step to keep the mathematics), or checkpoint the large layers",
        _half(record),
        snippet,
        "consent",
    )


def _half(record: Record) -> str:
    """The batch size where the user wrote it."""
    for file in record.sources:
        source = next((s for p in record.facts.loaders if p.built_at and p.built_at.file == file and (s := source_at(record, p.built_at))), None)
        if source is None:
            continue
        for loader in record.facts.loaders:
            for call in source.calls("DataLoader", line=loader.built_at.line if loader.built_at else None):
                given = keyword(call, "batch_size")
                value = given.value if given is not None else call.args[1] if len(call.args) > 1 else None
                numbers = [value] if is_number(value) else named_numbers(source, re.sub(r".*\.", "", ast.unparse(value))) if value is not None else []
                if loader.role != "eval" and len(numbers) == 1 and isinstance(numbers[0].value, int) and numbers[0].value > 1:
                    return source.diff(source.replacing(numbers[0], str(numbers[0].value // 2)))
    return ""
