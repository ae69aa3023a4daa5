"""The line of a script where inputs or targets were prepared in the way that a cause speaks of, as far as the text tells (see lineage.py)."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from sickbay.causes.fixing import Source, called, source_at
from sickbay.causes.lineage import Lineage
from sickbay.facts import EvaluationData, Head, Loader
from sickbay.nouns import Place
from sickbay.record.reader import Record

REORDERING = frozenset(
    {"roll", "flip", "flipud", "sort", "sorted", "shuffle", "permutation", "randperm", "argsort", "sample", "sort_values", "reverse", "reversed"}
)
COPYING = frozenset({"repeat", "tile", "repeat_interleave", "resample", "fit_resample"})
JOINING = frozenset({"concatenate", "cat", "vstack", "concat", "extend"})
BESIDE = frozenset({"stack", "column_stack", "dstack"})
DRAWING = frozenset({"randperm", "permutation", "shuffle", "sample"})
SPLITTING = frozenset({"train_test_split", "random_split"})
CHOOSING = frozenset(
    {"where", "masked_fill", "masked_fill_", "scatter", "scatter_", "fillna", "ffill", "bfill", "map", "replace", "fill_", "index_fill"}
)


TRANSFORM = re.compile(r"(?<![a-z])(?:tf|tfm|tfms|transform|transforms|preprocess|prep|aug|augment)(?![a-z])", re.IGNORECASE)


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
    """What a loader's samples went through: from the line that built it."""
    source = source_at(record, loader.built_at if loader is not None else None)
    if source is None or loader is None or loader.built_at is None:
        return None
    for call in source.calls("DataLoader", line=loader.built_at.line):
        data = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "dataset"), None)
        statement = source.statement(loader.built_at.line)
        if data is not None and statement is not None:
            return Statements(source, [statement, *Lineage(source).of(data)])
    return None


def from_call(record: Record, place: Place | None, text: str) -> Statements | None:
    """What the arguments of a call, as it is written at a place, went through."""
    source = source_at(record, place)
    for call in source.calls(line=place.line) if source is not None and place is not None else ():
        if source is not None and (source.segment(call) == text or ast.unparse(call) == text):
            lineage = Lineage(source)
            return Statements(source, list(dict.fromkeys(s for a in call.args for s in lineage.of(a))))
    return None


def trained_on(record: Record) -> Statements | None:
    """What the training data went through."""
    if loader := next((x for x in record.facts.loaders if x.role == "train"), None):
        return from_loader(record, loader)
    probe = record.facts.data_probe
    found = prepared(record, probe.place, probe.target) if probe is not None else None
    return Statements(found.source, found.inputs) if found is not None else None


def evaluated_on(record: Record, data: EvaluationData) -> Statements | None:
    """What an evaluation's data went through: from its loader, the call that names it, or the model's own."""
    if data.loader is not None:
        return from_loader(record, next((x for x in record.facts.loaders if x.index == data.loader), None))
    calls = list(zip((data.place, data.called_from), data.texts, strict=False))
    return next((found for place, text in calls[::-1] if (found := from_call(record, place, text)) is not None and found.statements), None)


def sides(record: Record, data: EvaluationData) -> Sides | None:
    trained, shown = trained_on(record), evaluated_on(record, data)
    return Sides(trained, shown) if trained is not None and shown is not None and trained.source.file == shown.source.file else None


def relabelled(found: Prepared | None) -> Place | None:
    """The line that gives labels other values: a default for what is not found, values put in under a mask, chosen or taken from a neighbour."""
    if found is None:
        return None
    if votes := [s for s in found.targets if _one_of_several(s)]:
        return found.place(votes[0])
    kinds: tuple[Callable[[ast.stmt], bool], ...] = (_falls_back, _overwrites, lambda s: _calls(s, CHOOSING))
    for kind in kinds:
        if chosen := [s for s in found.only_targets if not isinstance(s, ast.For) and kind(s)]:
            return found.place(chosen[0])
    joined = [s for s in found.only_targets if _joins(s)]
    return found.place(joined[0]) if joined else None


def displaced(found: Prepared | None) -> Place | None:
    """The line that puts one of inputs and targets into another order, leaves some of it out or doubles it, and not the other."""
    if found is None:
        return None
    loops = [s for s in found.inputs if isinstance(s, ast.For) and s in found.targets and _calls(s, frozenset({"zip"}))]
    if loops and all(side and _calls(side[0], frozenset({"DataLoader"})) for side in (found.only_inputs, found.only_targets)):
        return found.place(loops[0])  # two loaders side by side, each with an order of its own
    for side in (found.only_targets, found.only_inputs):
        if chosen := [s for s in side if not isinstance(s, (ast.For, ast.Return)) and (_calls(s, REORDERING | COPYING) or _filters(s))]:
            return found.place(chosen[0])
    both = [s for s in found.inputs if s in found.targets and isinstance(s, (ast.Return, ast.Assign)) and _neighbour(s)]
    return found.place(both[0]) if both else None


def made_column(found: Prepared | None, column: int) -> Place | None:
    """The line that makes one column of the inputs, where columns are put side by side by name."""
    for statement in found.inputs if found is not None else ():
        for node in _inside(statement):
            columns = node.args[0] if isinstance(node, ast.Call) and called(node) in BESIDE and node.args else None
            if isinstance(columns, (ast.List, ast.Tuple)) and column < len(columns.elts) and found is not None:
                came = [s for s in Lineage(found.source).of(columns.elts[column]) if isinstance(s, ast.Assign)]
                return found.place(came[0]) if came else None
    return None


def in_order(found: Prepared | None) -> Place | None:
    """The line that takes samples one after the other: a slice, an order that counts up, else the loop over what gives them."""
    if found is None:
        return None
    lines = [s for s in found.targets if isinstance(s, ast.Assign) and (_slices(s) or _calls(s, frozenset({"arange"})))]
    loops = [s for s in found.targets if isinstance(s, ast.For) and not _calls(s, frozenset({"range"}))]
    near = [s for s in (*lines, *loops) if found.source.function(s) is found.source.function(found.call)]
    return found.place(near[0]) if near else None


def copied(found: Sides | None) -> Place | None:
    """The line that makes several of one sample before training and evaluation are parted."""
    if found is None:
        return None
    trained, shown = found.trained, found.shown
    both = [s for s in trained.statements if s in shown]
    for statement in (s for s in both if _calls(s, COPYING) or _doubles(s)):
        # x, y = oversampled(x, y): the line that asks for it, not one inside the function
        function = getattr(trained.source.function(statement), "name", "")
        asking = [s for s in both if _calls(s, frozenset({function}))] if function else []
        if lines := [s for s in (*asking, statement) if isinstance(s, ast.Assign) and _returns_to_itself(s)]:
            return trained.place(lines[0])
    return None


def parted(found: Sides | None) -> Place | None:
    """The line that should have kept them apart: a split that both went through; or the one that gives training the whole, where evaluation alone has a part of it."""
    if found is None:
        return None
    trained, shown = found.trained, found.shown
    both = [s for s in shown.statements if s in trained and _calls(s, SPLITTING)]
    only = [s for s in shown.statements if s not in trained and _calls(s, SPLITTING)]
    if both:
        return shown.place(both[0])
    if own := [s for s in shown.statements if s in trained and _deals_out(trained.source, s)]:
        return shown.place(own[0])
    return trained.place(trained.statements[0]) if only and _calls(trained.statements[0], frozenset({"DataLoader"})) else None


def set_up(found: Sides | None) -> Place | None:
    """The nearest line that prepares what is evaluated and nothing that is trained on; of a data set with a transform of its own, that one."""
    if found is None:
        return None
    trained, shown = found.trained, found.shown
    own = [s for s in shown.statements if isinstance(s, ast.Assign) and s not in trained and not _only_loads(s)]
    if not own:
        return None
    names = {n.id for n in ast.walk(own[0].value) if isinstance(n, ast.Name) and TRANSFORM.search(n.id)}
    changed = [s for s in shown.source.tree.body if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and s.targets[0].id in names]
    return shown.place(changed[0] if len(changed) == 1 else own[0])


def _calls(statement: ast.stmt, names: frozenset[str]) -> bool:
    return any(isinstance(n, ast.Call) and called(n) in names for n in _inside(statement))


def _inside(statement: ast.stmt) -> Iterable[ast.AST]:
    """What stands in the statement itself: not in the body of a loop or function."""
    if isinstance(statement, ast.For):
        return ast.walk(statement.iter)
    return ast.walk(statement)


def _falls_back(statement: ast.stmt) -> bool:
    """`names.get(key, 0)`"""
    return any(isinstance(n, ast.Call) and called(n) == "get" and len(n.args) == 2 for n in _inside(statement))


def _overwrites(statement: ast.stmt) -> bool:
    """`y[wrong] = ...`"""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target] if isinstance(statement, ast.AugAssign) else []
    return any(isinstance(t, ast.Subscript) for t in targets)


def _joins(statement: ast.stmt) -> bool:
    """`torch.cat([codes_a, codes_b])`: labels of two origins, which may not mean the same."""
    for node in _inside(statement):
        if isinstance(node, ast.Call) and called(node) in JOINING and node.args and isinstance(node.args[0], (ast.List, ast.Tuple)):
            return len({ast.unparse(e).partition("[")[0] for e in node.args[0].elts}) > 1
    return False


def _one_of_several(statement: ast.stmt) -> bool:
    """`return words[i], votes[i, 0]`: one column of what there is for this sample."""
    given = statement.value if isinstance(statement, ast.Return) else None
    last = given.elts[-1] if isinstance(given, ast.Tuple) and given.elts else None
    return any(
        isinstance(n, ast.Subscript)
        and isinstance(n.slice, ast.Tuple)
        and isinstance(n.slice.elts[0], ast.Name)
        and isinstance(n.slice.elts[-1], ast.Constant)
        and isinstance(n.slice.elts[-1].value, int)
        for n in (ast.walk(last) if last is not None else ())
    )


def _neighbour(statement: ast.stmt) -> bool:
    """`return images[i], labels[i + 1]`: one and the same index, once moved."""
    taken = [n.slice for n in _inside(statement) if isinstance(n, ast.Subscript)]
    plain = {s.id for s in taken if isinstance(s, ast.Name)}
    moved = [s.left for s in taken if isinstance(s, ast.BinOp) and isinstance(s.op, (ast.Add, ast.Sub)) and isinstance(s.right, ast.Constant)]
    return any(isinstance(m, ast.Name) and m.id in plain for m in moved)


def _deals_out(source: Source, statement: ast.stmt) -> bool:
    """`data = Split(x, y, 0.25)`: the script's own class or function draws an order and cuts it."""
    names = {called(n) for n in _inside(statement) if isinstance(n, ast.Call)}
    own = [n for n in ast.walk(source.tree) if isinstance(n, (ast.ClassDef, ast.FunctionDef)) and n.name in names]
    return any(
        any(isinstance(n, ast.Call) and called(n) in DRAWING for n in ast.walk(made))
        and any(isinstance(n, ast.Slice) and (n.lower is None) != (n.upper is None) for n in ast.walk(made))
        for made in own
    )


def _filters(statement: ast.stmt) -> bool:
    return any(isinstance(n, ast.comprehension) and n.ifs for n in _inside(statement))


def _doubles(statement: ast.stmt) -> bool:
    """`np.concatenate([x, x])`, `torch.cat([x, x[rare]])`"""
    for node in _inside(statement):
        if isinstance(node, ast.Call) and called(node) in JOINING and node.args and isinstance(node.args[0], (ast.List, ast.Tuple)):
            roots = [ast.unparse(e).partition("[")[0] for e in node.args[0].elts]
            if len(set(roots)) < len(roots):
                return True
    return False


def _returns_to_itself(statement: ast.Assign) -> bool:
    given = {n.id for n in ast.walk(statement.value) if isinstance(n, ast.Name)}
    return any(isinstance(n, ast.Name) and n.id in given for t in statement.targets for n in ast.walk(t))


def _only_loads(statement: ast.Assign) -> bool:
    """`val_loader = DataLoader(val_set, ...)`"""
    value = statement.value
    return isinstance(value, ast.Call) and called(value) == "DataLoader" and bool(value.args) and isinstance(value.args[0], ast.Name)


def _slices(statement: ast.stmt) -> bool:
    """`x[i : i + size]`"""
    return any(isinstance(n, ast.Slice) and n.lower is not None and n.upper is not None for n in _inside(statement))
