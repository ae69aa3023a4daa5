"""What `train-val-leakage`, `train-val-mismatch` and `label-noise` share: which evaluations are meant to measure something new."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from sickbay.facts import EvaluatedExamples, EvaluationData
from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.bindings import argument, parameters
from sickbay.script.fixing import Function, Source, called, source_at, sources
from sickbay.script.guesses import guess

TRAIN = re.compile(r"(?<![a-z])(?:train|trn|tr|fit)(?:ing)?(?![a-z])", re.IGNORECASE)
VALIDATION = re.compile(r"(?<![a-z])(?:val|va|valid|validation|dev|xv|yv|xva|yva|xval)(?![a-z])", re.IGNORECASE)
HELD_OUT = re.compile(
    r"(?<![a-z])(?:val|va|valid|validation|test|tst|te|dev|eval|holdout|held|unseen|xv|yv|xva|yva|xte|yte|xval)(?![a-z])", re.IGNORECASE
)
SCORED = re.compile(
    r"(?<![a-z])((?:train|trn|tr)(?:ing)?)_eval(?:uation)?(?![a-z])|(?<![a-z])eval(?:uation)?_((?:train|trn|tr)(?:ing)?)(?![a-z])", re.IGNORECASE
)
"""`train_eval`: training's own data, to be evaluated."""

SELDOM = 0.25
"""Evaluations come after many steps. What runs without gradients on every step or two is a part of training: acting in a world, targets, mining."""


def evaluations(record: Record) -> list[EvaluationData]:
    """Those that are meant to measure something new."""
    steps = record.facts.run.steps
    return [d for d in record.facts.evaluation_data if d.passes <= max(SELDOM * steps, 1) and not of_training(record, d)]


def names(record: Record, data: EvaluationData) -> str:
    """What the script calls the data: the calls' texts and the loader's variable."""
    loaders = [x.variable for x in record.facts.loaders if x.index == data.loader]
    # The functions' own names ("evaluate", "test") say nothing of the data that they are given.
    inside = [text.partition("(")[2] or text for text in data.texts]
    return SCORED.sub(r"\1\2", " ".join([*inside, *loaders])).replace("_", " ")


def of_training(record: Record, data: EvaluationData) -> bool:
    """The script measures its training data, and says so."""
    text = names(record, data)
    return data.train_loader or (bool(TRAIN.search(text)) and not HELD_OUT.search(text))


def shown_in(data: EvaluationData, examples: EvaluatedExamples) -> bool:
    """Whether both are of the same evaluation."""
    return (data.place, data.called_from, data.loader) == (examples.place, examples.called_from, examples.loader)


def held_out(record: Record, data: EvaluationData) -> bool:
    return bool(HELD_OUT.search(names(record, data)))


def split_at(record: Record) -> Place | None:
    """The line that sets validation data aside by a call (`train_test_split`, `random_split`), if there is just one."""
    found = []
    for source in sources(record):
        for call in source.calls("train_test_split", "random_split"):
            statement = source.statement(call.lineno)
            names = ast.unparse(statement).partition("=")[0].replace("_", " ") if isinstance(statement, ast.Assign) else ""
            found += [source.place(call.lineno)] if VALIDATION.search(names) else []
    return found[0] if len(found) == 1 else None


@guess
def built_once(record: Record, data: EvaluationData) -> Place | None:
    """`net = Net()` before `for train, val in folds.split(x):`, where each fold needs a model of its own."""
    model = data.texts[0].partition("(")[0] if data.texts else ""
    for place in (data.called_from, data.place):
        source = source_at(record, place)
        statement = source.statement(place.line) if source is not None and place is not None else None
        for loop in source.loops(statement) if source is not None and statement is not None else ():
            if source is not None and isinstance(loop, ast.For) and source.calls("split", within=loop.iter):
                made = [s for s in source.block(loop) if isinstance(s, ast.Assign) and s.lineno < loop.lineno and isinstance(s.value, ast.Call)]
                names = _names_of(source, statement, model)
                built = [s for s in made if len(s.targets) == 1 and ast.unparse(s.targets[0]) in names]
                return replace(source.place(built[-1].lineno), guess=True) if built else None
    return None


def _names_of(source: Source, statement: ast.AST | None, model: str) -> set[str]:
    """What a model is called where this line hands it to a function in which it has this name."""
    calls = (
        [(c, f) for c in source.calls(within=statement) for f in source.defined.get(called(c), ()) if isinstance(f, Function)] if statement else []
    )
    given = [argument(c, f, model, method=False) for c, f in calls if model in parameters(f)]
    return {ast.unparse(g[0]) for g in given if g is not None and not g[1]} or {model}


def where(record: Record, data: EvaluationData) -> Place | None:
    """The line that gives the data to evaluation: the loop over its loader, else the call that names it, else the model's."""
    loader = next((x for x in record.facts.loaders if x.index == data.loader), None)
    if loader is not None and loader.iterated_at is not None:
        return loader.iterated_at
    caller = data.texts[-1].partition("(")[2].replace("_", " ") if len(data.texts) > 1 else ""
    return data.called_from if HELD_OUT.search(caller) and data.called_from is not None else data.place


def training_rows(record: Record) -> int:
    """How many different samples there are to train on, as far as that was seen: at least, where neither a loader nor a module tells."""
    loaders = [x.samples or 0 for x in record.facts.loaders if x.role == "train"]
    counted = max([*loaders, *(d.train_distinct for d in record.facts.evaluation_data)], default=0)
    probe = record.facts.data_probe
    as_they_are = probe is not None and probe.again > 0 and not probe.changed  # else samples may be made anew each time
    return counted or (probe.relation.rows if probe is not None and probe.relation is not None and as_they_are else 0)
