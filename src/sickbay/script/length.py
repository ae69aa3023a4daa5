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
    """That line; else the outermost loop around the training pass, as far as one function shows it."""
    forward = record.facts.timeline.places.get("forward")
    source = source_at(record, forward)
    statement = source.statement(forward.line) if source is not None and forward is not None else None
    loops = source.loops(statement) if source is not None and statement is not None else []
    around = replace(source.place(loops[-1].lineno), guess=True) if source is not None and loops else None
    return place_of(length(record)) or around
