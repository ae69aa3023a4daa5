"""Something of the script's takes more memory with every step and is never emptied.

## What happens

Outputs, batches or features are appended "for later" at every step, glued to a tensor that grows, kept by a cache that is asked for a new tensor each time, or collected by hooks that are registered anew in
every epoch and never removed. Even without their graphs (that would be `retained-graph`) they add up, epoch after epoch, until the process
is killed: hours into the run, far from the line that is to blame.

## How we know

The memory of the process is taken now and then. When it has grown a good deal, its lists, dicts and deques, the caches of functions, the lists that hooks fill and the large tensors of the script's variables
are looked through, and again when it has grown further: what has more entries (or rows) each time, and whose contents account for the growth, is to blame. Lists that are as long as each other every time (one for each
layer, outputs beside targets) are filled by one loop and are counted together. The script's own name for it leads to the line that adds to it.

## Looks like it but is not

- Numbers in a list (`losses.append(loss.item())`): they hold no tensors and next to no memory.
- Results that are collected for one epoch and let go: the next epoch begins with a new list.
- A cache that the first epoch fills, a buffer with a largest length (`deque(maxlen=…)`, `if len(buffer) > size: buffer.pop(0)`).
- Entries that are parts of one large tensor, or refer to the same data set: what they share does not grow.
- The first steps, on which optimizers and allocators take what they need.

## Fix

Keep numbers, not tensors; let go at the end of an epoch what was collected in it; give a buffer or a cache a largest length; keep the handle of a hook and call `handle.remove()`. A tensor is no key for a cache: each is
another one, even with the same numbers.

## References

- https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
- https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_forward_hook (the handle that removes it).
- https://github.com/pytorch/pytorch/issues/71495 (memory growth that nobody could trace to the tensors that were kept).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sickbay.causes.crashes import size
from sickbay.causes.evidence import hint, located, proof, strong, times
from sickbay.causes.registry import cause
from sickbay.facts import Hoard
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.filled import adds_to, is_bounded, without_cache
from sickbay.script.fixing import mend
from sickbay.signs import Signs

WORTH = 64 * 2**20
"""Bytes that the container grew by: less does no harm within a run of that length."""
PACE = 0.5
"""Entries per step, at least: what grows now and then (one per epoch, the best few) is no leak of the loop."""
ACCOUNTS = 0.4
"""The container's growth as a share of the process's: allocators round, and other things grow a little."""


@cause(
    code="S503",
    level="system",
    title="memory grows with every step",
    why="What is kept of every step adds up until the process is killed, long after it began to grow.",
    explains={"out-of-memory", "memory-growth", "step-time-drift"},
    cure=None,
)
def memory_leak(record: Record, signs: Signs) -> Iterator[Evidence]:
    for hoard in record.facts.hoards[:1]:
        steps = max(hoard.last_step - hoard.first_step, 1)
        pace = (hoard.last - hoard.first) / steps
        grown = hoard.last * hoard.bytes_each
        process = _growth(record, hoard.last_step)
        if pace < PACE or grown < WORTH or (process is not None and grown < ACCOUNTS * process):
            continue
        if hoard.kind != "cache" and is_bounded(record, hoard.name):
            continue
        place = adds_to(record, hoard.name, hoard.kind, hoard.place)
        # Within one epoch it may be a list that is let go at the epoch's end. Without a loader there are no epochs to go by.
        kind = proof if hoard.epochs >= 1 else strong if record.facts.run.epochs == 0 else hint
        yield kind(_told(hoard, place, grown), place, (hoard.first_step, hoard.last_step), held=grown, per_step=pace)
        if hoard.kind == "hook" and hoard.count > 1:
            yield hint(f"the hook that fills it was registered {hoard.count} times, and none of them was removed", hoard.place)
        if hoard.kind == "cache" and hoard.count:
            yield hint(f"the cache was asked {hoard.count:,} times and had an answer {hoard.hits:,} times", hoard.place)
        if process is not None:
            yield hint(f"the process grew by {size(process)} in the meantime", None, (0, hoard.last_step))


def _told(hoard: Hoard, place: Place | None, grown: float) -> str:
    what = f"the cache of `{hoard.name}`" if hoard.kind == "cache" else f"`{hoard.name}`"
    unit = "rows" if hoard.kind == "rows" else "entries"
    together = f" and {times(hoard.alike, 'other')} that grow with it hold" if hoard.alike else " holds"
    held = f"{together} about {size(grown)}" + ("" if hoard.kind == "rows" else " of tensors")
    filled = located(place, ", made at" if hoard.kind == "cache" else ", filled at")
    return f"{what} went from {hoard.first:,} to {hoard.last:,} {unit} between steps {hoard.first_step} and {hoard.last_step}{filled}: it{held}"


def _growth(record: Record, step: int) -> float | None:
    """Of the process, from its first measurement to the largest up to the step at which the container was last looked at."""
    series = record.series("memory/rss")
    values = np.asarray(series.values, float)[np.asarray(series.steps) <= step]
    return float(values.max() - values[0]) if len(values) >= 2 else None


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    hoard = record.facts.hoards[0] if record.facts.hoards else None
    if hoard is None:
        return Fix("keep numbers instead of tensors", "history.append(loss.item())", "advice")
    if hoard.kind == "cache":
        text = f"do not cache `{hoard.name}` by tensors (each tensor is another key), or give the cache a largest length"
        return mend(text, without_cache(record, hoard), "@functools.lru_cache(maxsize=16)", "consent")
    if hoard.kind == "hook":
        text = "keep the handle of the hook and remove it when it has done its work, or register it once"
        return Fix(text, "handle = module.register_forward_hook(hook)\n...\nhandle.remove()", "advice")
    if hoard.kind == "rows":
        return Fix(
            f"keep a bounded part of `{hoard.name}`, or only what is needed of it (a mean, a count)",
            f"{hoard.name} = {hoard.name}[-10_000:]",
            "advice",
        )
    return Fix(
        f"keep numbers instead of tensors in `{hoard.name}`, empty it at the end of every epoch, or give it a largest length",
        f"{hoard.name}.clear()          # at the end of the epoch",
        "advice",
    )
