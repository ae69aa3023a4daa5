"""The line of a script where inputs or targets were prepared in the way that a cause speaks of, as far as the text tells (see lineage.py)."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from sickbay.facts import EvaluationData, Head, Loader
from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Source, called, source_at
from sickbay.script.guesses import guess
from sickbay.script.lineage import Lineage
from sickbay.script.statement_kinds import (
    CHOOSING,
    COPYING,
    REORDERING,
    averages_labels,
    calls,
    column_of,
    counted_up,
    falls_back,
    filters,
    given_names,
    joins,
    named_in,
    neighbour,
    one_of_several,
    overwrites,
    slices,
)

CALLED_LABELS = re.compile(r"(?i)y$|y_|.*(label|target|class|truth)")
"""What comes with the inputs under such a name has one column, which is only made flat; several answers are called otherwise."""


@dataclass(frozen=True)
class Statements:
    """What one thing went through, the nearest first."""

    source: Source
    statements: list[ast.stmt]

    def __contains__(self, statement: ast.stmt) -> bool:
        return any(s.lineno == statement.lineno for s in self.statements)

    def place(self, statement: ast.stmt) -> Place:
        return guessed(self.source, statement)


@dataclass(frozen=True)
class Sides:
    """What training and an evaluation are given, from one file."""

    trained: Statements
    shown: Statements


@dataclass(frozen=True)
class Prepared:
    """What the two sides of a loss went through."""

    source: Source
    call: ast.Call
    inputs: list[ast.stmt]
    targets: list[ast.stmt]

    @property
    def only_inputs(self) -> list[ast.stmt]:
        return [s for s in self.inputs if s not in self.targets]

    @property
    def only_targets(self) -> list[ast.stmt]:
        return [s for s in self.targets if s not in self.inputs]

    def place(self, statement: ast.stmt) -> Place:
        return guessed(self.source, statement)


def guessed(source: Source, statement: ast.stmt) -> Place:
    """A line that the text speaks for."""
    return replace(source.place(statement.lineno), guess=True)


@guess
def of_head(record: Record, head: Head | None) -> Prepared | None:
    """Of a loss function as the user wrote its call."""
    try:
        call = ast.parse(head.call, mode="eval").body if head is not None else None
    except SyntaxError:
        return None
    return (
        prepared(record, head.called_at, ast.unparse(call.args[1]))
        if head is not None and isinstance(call, ast.Call) and len(call.args) > 1
        else None
    )


@guess
def prepared(record: Record, loss: Place | None, target: str) -> Prepared | None:
    """Of the loss that is called at this line with this target; None if its call is not found there."""
    source = source_at(record, loss)
    if source is None or loss is None or loss.line is None:
        return None
    for call in source.calls(line=loss.line):
        at = next((i for i, a in enumerate(call.args) if source.segment(a) == target or ast.unparse(a) == target), None)
        if at:
            lineage = Lineage(source)
            return Prepared(source, call, [s for a in call.args[:at] for s in lineage.of(a)], lineage.of(call.args[at]))
    return None


def from_loader(record: Record, loader: Loader | None) -> Statements | None:
    """What a loader's samples went through: from the line that built it, and the one that asked for it where a function of the script's own did."""
    source = source_at(record, loader.built_at if loader is not None else None)
    if source is None or loader is None or loader.built_at is None:
        return None
    for call in source.calls("DataLoader", line=loader.built_at.line):
        data = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "dataset"), None)
        statement = source.statement(loader.built_at.line)
        if data is not None and statement is not None:
            asked = _asked_for(source, source.function(call), loader.variable)
            return Statements(
                source, [*([asked[0]] if asked is not None else []), statement, *Lineage(source).of(data, asked[1] if asked is not None else None)]
            )
    return None


def _asked_for(source: Source, function: ast.AST, variable: str) -> tuple[ast.stmt, ast.Call] | None:
    """`val = make_loader(rows)`: the statement and its call of the function that built the loader, if one alone gives it this name."""
    calls = source.calls(getattr(function, "name", "-"))
    statements = [
        (s, c) for c in calls if isinstance(s := source.statement(c.lineno), ast.Assign) and variable in [ast.unparse(t) for t in s.targets]
    ]
    return statements[0] if len(statements) == 1 else None


def from_call(record: Record, place: Place | None, text: str) -> Statements | None:
    """What the arguments of a call, as it is written at a place, went through."""
    source = source_at(record, place)
    for call in source.calls(line=place.line) if source is not None and place is not None else ():
        if source is not None and (source.segment(call) == text or ast.unparse(call) == text):
            lineage = Lineage(source)
            given = [lineage.of(a) for a in call.args]
            return Statements(source, list(dict.fromkeys(s for came in given if not any(_makes_a_model(source, s) for s in came) for s in came)))
    return None


def _makes_a_model(source: Source, statement: ast.stmt) -> bool:
    """`net = Net()`, of a class that is a module, or `nn.Sequential(...)`: what is evaluated, not what it is evaluated on."""
    made = statement.value if isinstance(statement, ast.Assign) else None
    if not isinstance(made, ast.Call):
        return False
    bases = [ast.unparse(b) for kind in source.defined.get(called(made), ()) if isinstance(kind, ast.ClassDef) for b in kind.bases]
    return called(made) == "Sequential" or any(b.endswith("Module") for b in bases)


@guess
def trained_on(record: Record) -> Statements | None:
    """What the training data went through."""
    if loader := next((x for x in record.facts.loaders if x.role == "train"), None):
        return from_loader(record, loader)
    probe = record.facts.data_probe
    found = prepared(record, probe.place, probe.target) if probe is not None else None
    return Statements(found.source, found.inputs) if found is not None else None


@guess
def evaluated_on(record: Record, data: EvaluationData) -> Statements | None:
    """What an evaluation's data went through: from its loader, the call that names it, or the model's own."""
    if data.loader is not None:
        return from_loader(record, next((x for x in record.facts.loaders if x.index == data.loader), None))
    calls = list(zip((data.place, data.called_from), data.texts, strict=False))
    return next((found for place, text in calls[::-1] if (found := from_call(record, place, text)) is not None and found.statements), None)


@guess
def sides(record: Record, data: EvaluationData) -> Sides | None:
    trained, shown = trained_on(record), evaluated_on(record, data)
    return Sides(trained, shown) if trained is not None and shown is not None and trained.source.file == shown.source.file else None


@guess
def relabelled(found: Prepared | None) -> Place | None:
    """The line that gives labels other values: a mean of class numbers, a default for what is not found, values put in under a mask, chosen or taken from a neighbour."""
    if found is None:
        return None
    of_inputs = {
        n for i in found.inputs if isinstance(i, ast.Assign) for n in (*named_in(i.value), *(g for g in given_names(i) if CALLED_LABELS.match(g)))
    }
    if votes := [s for s in found.targets if one_of_several(s) or (column_of(s) - of_inputs)]:
        return found.place(votes[0])
    kinds: tuple[Callable[[ast.stmt], bool], ...] = (averages_labels, falls_back, overwrites, lambda s: calls(s, CHOOSING))
    for kind in kinds:
        if chosen := [s for s in found.only_targets if not isinstance(s, ast.For) and kind(s)]:
            return found.place(chosen[0])
    joined = [s for s in found.only_targets if joins(s)]
    return found.place(joined[0]) if joined else None


@guess
def made_alone(found: Prepared | None) -> Place | None:
    """The nearest line that makes targets, and nothing of the inputs."""
    made = [s for s in found.only_targets if isinstance(s, ast.Assign)] if found is not None else []
    return found.place(made[0]) if found is not None and made else None


@guess
def displaced(found: Prepared | None) -> Place | None:
    """The line that puts one of inputs and targets into another order, leaves some of it out or doubles it, and not the other."""
    if found is None:
        return None
    loops = [s for s in found.inputs if isinstance(s, ast.For) and s in found.targets and calls(s, frozenset({"zip"}))]
    if loops and all(side and calls(side[0], frozenset({"DataLoader"})) for side in (found.only_inputs, found.only_targets)):
        return found.place(loops[0])  # two loaders side by side, each with an order of its own
    for side in (found.only_targets, found.only_inputs):
        if chosen := [s for s in side if not isinstance(s, (ast.For, ast.Return)) and (calls(s, REORDERING | COPYING) or filters(s))]:
            return found.place(chosen[0])
    both = [s for s in found.inputs if s in found.targets and isinstance(s, (ast.Return, ast.Assign)) and neighbour(s)]
    return found.place(both[0]) if both else None


@guess
def in_order(found: Prepared | None) -> Place | None:
    """The line that takes samples one after the other: a slice, an order that counts up, else the loop over what gives them."""
    if found is None:
        return None
    lines = [s for s in found.targets if isinstance(s, ast.Assign) and (slices(s) or calls(s, frozenset({"arange"})))]
    loops = [s for s in found.targets if isinstance(s, ast.For) and not calls(s, frozenset({"range"}))]
    near = [s for s in (*lines, *loops) if found.source.function(s) is found.source.function(found.call)]
    return found.place(counted_up(found.source, near[0]) or near[0]) if near else None
