"""Training waits for its data most of the time.

## What happens

The model is done with a batch long before the next one is there: samples are read, decoded or augmented in the training process, one by one. A faster machine
or a smaller model would change nothing.

## How we know

The time between asking the loader for a batch and getting it, as a share of the whole step, over the run. With workers this is true waiting; without them it
is the time that making a batch takes. The line is read from the text: a file that is read again for every sample, a loop, a reader. Short waits are left out whatever their share: a tiny model makes anything look slow.

## Looks like it but is not

- The first batch of an epoch, for which workers have to start: medians are compared, not sums alone.
- Small tensors collated for a small model: a few milliseconds a batch.

## Fix

`num_workers`, work on whole arrays instead of pixel by pixel in Python, prepare once what does not change, batch the transformation on the device.

## References

- https://docs.pytorch.org/docs/stable/data.html#single-and-multi-process-data-loading
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from sickbay.causes.evidence import hint, located, strong
from sickbay.causes.registry import cause
from sickbay.facts import Loader
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.bindings import own, parameters
from sickbay.script.fixing import Function, called, mend, source_at
from sickbay.signs import Signs

STEPS = 30
SHARE = 0.7
"""Of the whole time; users call 0.3 input-bound on a large machine (DL4J #8130), on which a step is long. Here collating alone takes up to half, and light work
on single samples 0.6 while others use the machine; what was written to wait for its data has 0.8 to 0.96."""
WAIT, WAIT_FOR_WORKERS = 0.006, 0.03
"""Seconds per batch: collating a hundred small tensors takes one or two milliseconds. Workers share the machine with everything else that runs on it: short
waits for them say more about the machine than about the script."""
READERS = (
    "open", "load", "loadtxt", "genfromtxt", "fromfile", "imread", "imdecode", "read_image", "read_csv", "read_json", "read_parquet", "read_bytes", "read_text", "loadmat",
    "decompress",
)  # fmt: skip
"""Calls that read or decode a file."""
TOTAL = 1.0
"""Seconds in all: less is not worth a word."""


@cause(
    code="S502",
    level="system",
    title="training waits for its data",
    why="Most of the time nothing is learned: the next batch is still being made.",
    explains={"loader-wait"},
    cure="workers=2",
)
def input_bound(record: Record, signs: Signs) -> Iterator[Evidence]:
    waits, steps = record.series("time/data"), record.series("time/step")
    if len(waits) < STEPS or len(waits) != len(steps) or not record.facts.loaders:
        return
    wait, whole = np.asarray(waits.values, float), np.asarray(steps.values, float)
    middle = float(np.median(wait))
    share = min(float(wait.sum() / max(whole.sum(), 1e-9)), middle / max(float(np.median(whole)), 1e-9))
    # The recorded steps may be thinned: the sum stands for the whole run.
    total = share * record.facts.run.training_seconds if record.facts.run.training_seconds else float(wait.sum())
    loader = _loader(record)
    least = WAIT_FOR_WORKERS if loader is not None and loader.workers else WAIT
    if share < SHARE or middle < least or total < TOTAL:
        return
    place = (loader.item_at or loader.iterated_at) if loader is not None else None
    again = _again(record, place)
    looping = _looping(record, place) if again is None else None
    reading = _reading(record, place) if looping is None and again is None else None
    what = "making it takes" if loader is not None and not loader.workers else "waiting for it takes"
    yield strong(
        f"a step asks for its batch and {what} {1000 * middle:.0f} ms of {1000 * float(np.median(whole)):.0f} ms: {100 * share:.0f} % of the run"
        f"{located(place, '; samples are made at')}{located(again, ' by reading the same file for each of them at')}{located(looping, ' by a loop in the function at')}{located(reading, ' by reading at')}",
        again or looping or reading or place,
        share=share,
        wait=middle,
    )
    if loader is not None and not loader.workers:
        yield hint("the loader has no workers: samples are made in the training process, one after the other")


def _loader(record: Record) -> Loader | None:
    return next((x for x in record.facts.loaders if x.role == "train"), None)


def _looping(record: Record, item: Place | None) -> Place | None:
    """The function that samples are made with, if it goes through them piece by piece and what calls it does not."""
    source = source_at(record, item)
    made = source.statement(item.line) if source is not None and item is not None else None
    if source is None or not isinstance(made, Function) or _loops(made):
        return None
    own = {name: made[-1] for name, made in source.defined.items() if isinstance(made[-1], Function)}
    met, ahead = {made.name}, [made]
    while ahead:
        calls = [called(c) for c in source.calls(within=ahead.pop(0))]
        for name in (n for n in calls if n in own and n not in met):
            if _loops(own[name]):
                return replace(source.place(own[name].lineno), guess=True)
            met.add(name)
            ahead.append(own[name])
    return None


def _again(record: Record, item: Place | None) -> Place | None:
    """The line that reads one and the same file for each sample: what it reads does not hang on which sample is asked for. It costs the whole file each time, whatever loops there are beside it."""
    source = source_at(record, item)
    made = source.statement(item.line) if source is not None and item is not None else None
    if source is None or not isinstance(made, Function) or made.name != "__getitem__" or len(parameters(made)) != 2:
        return None
    which = {parameters(made)[1]}
    for node in (n for n in own(made) if isinstance(n, (ast.Assign, ast.For))):
        value, target = (node.value, node.targets[0]) if isinstance(node, ast.Assign) else (node.iter, node.target)
        if not which.isdisjoint(_names(value)):
            which |= _names(target)
    for call in source.calls(*READERS, within=made):
        given = {name for a in (*call.args, *(k.value for k in call.keywords)) for name in _names(a)}
        held = [a for a in source.ancestors(call) if isinstance(a, ast.stmt)]
        chosen = any(isinstance(a, (ast.If, ast.Try)) for a in held[: held.index(made)])  # opened when it is first needed, and kept
        if given and given.isdisjoint(which) and not chosen:
            return replace(source.place(call.lineno), guess=True)
    return None


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _reading(record: Record, item: Place | None) -> Place | None:
    """The line that reads a file for each sample, where the function that makes samples only does things once."""
    source = source_at(record, item)
    made = source.statement(item.line) if source is not None and item is not None else None
    if source is None or not isinstance(made, Function) or _loops(made):
        return None
    return next((replace(source.place(c.lineno), guess=True) for c in source.calls(*READERS, within=made)), None)


def _loops(function: ast.AST) -> bool:
    return any(isinstance(n, (ast.For, ast.While, ast.ListComp, ast.GeneratorExp)) for n in ast.walk(function))


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    loader = _loader(record)
    if loader is not None and _again(record, loader.item_at) is not None:
        return mend(
            "read the file once, when the data set is made, and only take the sample's part of it here", "", "self.rows = read(path)  # in __init__"
        )
    text = "make samples in worker processes, or faster (whole arrays instead of loops, once instead of every epoch)"
    source = source_at(record, loader.built_at) if loader is not None else None
    calls = source.calls("DataLoader", line=loader.built_at.line) if source is not None and loader is not None and loader.built_at is not None else []
    if source is None or len(calls) != 1 or not calls[0].args:
        return mend(text, "", "loader = DataLoader(data, batch_size=64, shuffle=True, num_workers=4)")
    return mend(text, source.diff(source.giving(calls[0], "num_workers", "4")), "DataLoader(..., num_workers=4)", "consent")
