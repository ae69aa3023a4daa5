"""A list or dict of the script's takes more tensors with every step and is never emptied.

## What happens

Outputs, batches or features are appended "for later" at every step. Even without their graphs (that would be `retained-graph`) they add up, epoch after epoch, until the process
is killed: hours into the run, far from the line that is to blame.

## How we know

The memory of the process is taken now and then. When it has grown a good deal, the containers of the process are looked through, and again when it has grown further: one that holds
tensors or arrays, has more of them each time, and whose contents account for the growth is to blame. The script's own name for it leads to the line that adds to it.

## Looks like it but is not

- Numbers in a list (`losses.append(loss.item())`): they hold no tensors and next to no memory.
- Results that are collected for one epoch and let go: the next epoch begins with a new list.
- A cache that the first epoch fills, a buffer with a largest length (`deque(maxlen=…)`).
- The first steps, on which optimizers and allocators take what they need.

## Fix

Keep numbers, not tensors; let go at the end of an epoch what was collected in it; give a buffer a largest length.

## References

- https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
- https://github.com/pytorch/pytorch/issues/71495 (memory growth that nobody could trace to the tensors that were kept).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import numpy as np

from sickbay.causes.crashes import size
from sickbay.causes.evidence import hint, located, proof, strong
from sickbay.causes.registry import cause
from sickbay.facts import Hoard
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import source_at
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
    explains={"out-of-memory"},
    cure=None,
)
def memory_leak(record: Record, signs: Signs) -> Iterator[Evidence]:
    for hoard in record.facts.hoards[:1]:
        steps = max(hoard.last_step - hoard.first_step, 1)
        pace = (hoard.last - hoard.first) / steps
        grown = hoard.last * hoard.bytes_each
        process = _growth(record)
        if pace < PACE or grown < WORTH or (process is not None and grown < ACCOUNTS * process):
            continue
        place = _adds_to(record, hoard)
        text = (
            f"`{hoard.name}` went from {hoard.first:,} to {hoard.last:,} entries between steps {hoard.first_step} and {hoard.last_step}"
            f"{located(place, ', filled at')}: it holds about {size(grown)} of tensors"
        )
        # Within one epoch it may be a list that is let go at the epoch's end. Without a loader there are no epochs to go by.
        kind = proof if hoard.epochs >= 1 else strong if record.facts.run.epochs == 0 else hint
        yield kind(text, place, (hoard.first_step, hoard.last_step), held=grown, per_step=pace)
        if process is not None:
            yield hint(f"the process grew by {size(process)} in the meantime", None, (0, record.facts.run.steps))


def _growth(record: Record) -> float | None:
    """Of the process, from its first to its largest measurement."""
    values = np.asarray(record.series("memory/rss").values, float)
    return float(values.max() - values[0]) if len(values) >= 2 else None


def _adds_to(record: Record, hoard: Hoard) -> Place | None:
    """The line that adds to it: `history.append(x)`, `self.cache[i] = x`, `kept += [x]`, `outputs[name].append(x)`."""
    name = hoard.name.rpartition(".")[2]
    for file in record.sources:
        source = source_at(record, Place(file))
        if source is None:
            continue
        for node in ast.walk(source.tree):
            if _adds(node, name) and isinstance(node, ast.stmt):
                return source.place(node.lineno)
    return None


def _adds(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        return node.value.func.attr in ("append", "extend", "insert", "setdefault", "update", "appendleft") and _called(node.value.func.value) == name
    if isinstance(node, ast.AugAssign):
        return _called(node.target) == name
    if isinstance(node, ast.Assign) and not _empty(node.value):
        return any(isinstance(t, ast.Subscript) and _called(t.value) == name for t in node.targets)
    return False


def _empty(value: ast.expr) -> bool:
    """`[]`, `{}`, `list()`: what is to be filled later."""
    return (
        (isinstance(value, (ast.List, ast.Tuple)) and not value.elts)
        or (isinstance(value, ast.Dict) and not value.keys)
        or (isinstance(value, ast.Call) and not value.args and not value.keywords)
    )


def _called(node: ast.expr) -> str:
    """`cache` of `self.cache` and of `self.cache[name]`."""
    if isinstance(node, ast.Subscript):
        return _called(node.value)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    name = record.facts.hoards[0].name if record.facts.hoards else "history"
    return Fix(
        f"keep numbers instead of tensors in `{name}`, empty it at the end of every epoch, or give it a largest length",
        f"{name}.clear()          # at the end of the epoch",
        "advice",
    )
