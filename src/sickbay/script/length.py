"""Where a script says how long it trains: the number of epochs or steps, else the loop."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import replace

from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.fixing import called, is_number, source_at, sources
from sickbay.script.guesses import guess
from sickbay.script.written import Written, place_of, written

MOST_EPOCHS = 50
EPOCHS = ("epochs", "n_epochs", "num_epochs", "max_epochs", "EPOCHS", "NUM_EPOCHS", "N_EPOCHS", "nepochs", "num_train_epochs", "epoch")
STEPS = (
    "steps",
    "max_steps",
    "num_steps",
    "n_steps",
    "max_iters",
    "iterations",
    "n_iters",
    "num_iters",
    "iters",
    "STEPS",
    "MAX_STEPS",
    "total_steps",
)


def length(record: Record) -> Written | None:
    """Where the number of epochs or steps is written: a number of epochs divides that of the steps."""
    steps, epochs = record.facts.run.steps, record.facts.run.epochs
    counts = [epochs] if epochs else [e for e in range(1, MOST_EPOCHS + 1) if steps % e == 0]
    found = [written(record, e, EPOCHS) for e in reversed(counts)]
    loops = [written(record, n, (), ("range",)) for n in (epochs, steps) if n > 1]
    return next((f for f in [*found, written(record, steps, STEPS), *loops, _counted(record, counts)] if f is not None), None)


def _counted(record: Record, counts: Collection[int]) -> Written | None:
    """`for epoch in range(30)`, `range(1, 31)`: a loop that says in its own name what it counts."""
    for source in sources(record):
        for loop in ast.walk(source.tree):
            if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call) or called(loop.iter) != "range":
                continue
            numbers = [a for a in loop.iter.args[:2] if is_number(a)]
            if "epoch" not in ast.unparse(loop.target).lower() or len(numbers) != len(loop.iter.args):
                continue
            values = [int(n.value) for n in numbers if isinstance(n.value, (int, float))]
            if len(values) and values[-1] - sum(values[:-1]) in counts:
                return source, numbers[-1]
    return None


@guess
def length_place(record: Record) -> Place | None:
    """That line; else the one loop that is called epochs, or the outermost loop around the training pass, as far as one function shows it."""
    return place_of(length(record)) or _epochs_loop(record) or _loop_around(record)


def _epochs_loop(record: Record) -> Place | None:
    """`for epoch in range(1, args.epochs + 1)`: the number comes from the command line or a file of settings."""
    found = [
        source.place(loop.lineno)
        for source in sources(record)
        for loop in ast.walk(source.tree)
        if isinstance(loop, ast.For) and "epoch" in _counting(loop).lower()
    ]
    return replace(found[0], guess=True) if len(found) == 1 else None


def _counting(loop: ast.For) -> str:
    """What a loop says of what it counts; the label of a progress bar over batches is not that."""
    counted = isinstance(loop.iter, ast.Call) and called(loop.iter) in ("range", "trange")
    return ast.unparse(loop.target) + (f" {ast.unparse(loop.iter)}" if counted else "")


def _loop_around(record: Record) -> Place | None:
    """Without loops that build an optimizer each time: those repeat the training, they do not lengthen it."""
    places = record.facts.timeline.places
    inner = places.get("backward") or places.get("forward")
    source = source_at(record, inner)
    statement = source.statement(inner.line) if source is not None and inner is not None else None
    if source is None or inner is None or statement is None:
        return None
    places_built = [o.built_at for o in record.facts.optimizers if o.built_at is not None and o.built_at.file == inner.file]
    built = [p.line for p in places_built if p.line is not None]
    loops = [loop for loop in source.loops(statement) if not any(loop.lineno <= line <= (loop.end_lineno or loop.lineno) for line in built)]
    return replace(source.place(loops[-1].lineno), guess=True) if loops else None
