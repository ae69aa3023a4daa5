"""The line that made NaN or infinity in a batch, as far as the text of the script tells, and the edit that keeps it from it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from sickbay.facts import NonfiniteBatch
from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Edit, Function, Source, called, is_number, receiver, source_at
from sickbay.script.guesses import guess
from sickbay.script.naming import model_name
from sickbay.script.unguarded import LOGS, Operation, makers
from sickbay.script.worked_out import Trail

SAYS = {
    "division": "this division, by what can be zero, probably makes them",
    "logarithm": "this logarithm, of what can be zero, probably makes them",
    "root": "this root, of what can be negative, probably makes them",
    "angle": "rounding brings its argument beyond 1, which probably makes them",
    "correlation": "of values that do not vary it is 0/0, which probably makes them",
    "missing": "it gives NaN for what is missing, probably these",
    "overflow": "this probably overflows",
    "marks": "NaN stands for what is missing before this line, and is probably not taken out",
}


@dataclass(frozen=True)
class Origin:
    """Where the values come from."""

    source: Source
    line: int
    kind: str
    operations: tuple[Operation, ...] = ()
    """Those of one kind that stand in this line."""

    @property
    def place(self) -> Place:
        return replace(self.source.place(self.line), guess=True)

    @property
    def says(self) -> str:
        return SAYS[self.kind]


@guess
def origin(record: Record, batch: NonfiniteBatch) -> Origin | None:
    """The nearest operation on the way of the batch that can have made such values; else the line that takes over what was marked as missing."""
    for source, value, path in _starts(record, batch):
        trail = Trail(source, _model_call(record, source))
        nodes = trail.behind(value, path)
        if found := makers(trail, nodes, batch):
            first = found[0]
            return Origin(
                source, first.node.lineno, first.kind, tuple(o for o in found if (o.node.lineno, o.kind) == (first.node.lineno, first.kind))
            )
        if (taking := _takes_marks(nodes)) is not None and batch.kind == "nan" and not _partly(batch):
            return Origin(source, taking.lineno, "marks")
    return None


def _model_call(record: Record, source: Source) -> ast.Call | None:
    """The call of the model in the training loop, if it is in the same file."""
    forward = record.facts.timeline.places.get("forward")
    name = model_name(record, forward) if forward is not None and forward.file == source.file else ""
    calls = source.calls(line=forward.line) if forward is not None and name else []
    return next((c for c in calls if source.segment(c.func) == name), None)


def _starts(record: Record, batch: NonfiniteBatch) -> Iterator[tuple[Source, ast.expr, tuple[int, ...]]]:
    """The batch's own variable at its line; else the samples of training's loader, which may be built, and made, in other files."""
    if (source := source_at(record, batch.place)) is not None and (value := _batch_at(source, batch)) is not None:
        yield source, value, ()
    loader = next((x for x in record.facts.loaders if x.role == "train"), None)
    side = (0 if batch.role == "input" else 1,)
    if loader is not None and loader.built_at is not None and (source := source_at(record, loader.built_at)) is not None:
        for call in source.calls("DataLoader", line=loader.built_at.line):
            yield from ((source, given, side) for given in call.args[:1])
    if loader is not None and loader.item_at is not None and (source := source_at(record, loader.item_at)) is not None:
        item = source.statement(loader.item_at.line)
        for node in ast.walk(item) if isinstance(item, Function) else ():
            if isinstance(node, (ast.Return, ast.Yield)) and node.value is not None:
                yield source, node.value, side


def _batch_at(source: Source, batch: NonfiniteBatch) -> ast.expr | None:
    """The batch where it enters the model or the loss: by its name, else what the call is given."""
    calls = source.calls(line=batch.place.line) if batch.place is not None and batch.place.line is not None else []
    given = [a for c in calls for a in (*c.args, *(k.value for k in c.keywords))]
    named = [n for a in given for n in ast.walk(a) if isinstance(n, ast.expr) and batch.variable in (source.segment(n), ast.unparse(n))]
    if not named and calls:
        named = calls[0].args[-1:] if batch.role == "target" else calls[-1].args[:1]
    return named[0] if named else None


# -- what is missing ---------------------------------------------------------------------------------------------------


def _takes_marks(nodes: Sequence[ast.AST]) -> ast.stmt | None:
    """Behind `table[gone] = np.nan`: the assignment that takes the table over from there."""
    taking: ast.stmt | None = None
    for node in nodes:
        if isinstance(node, ast.Assign):
            if any(_is_nan(n) for n in ast.walk(node.value)):
                return taking
            taking = node
    return None


def _is_nan(node: ast.AST) -> bool:
    """`np.nan`, `math.nan`, `float("nan")`."""
    if isinstance(node, ast.Call):
        return called(node) == "float" and any(isinstance(a, ast.Constant) and str(a.value).lower() == "nan" for a in node.args)
    return isinstance(node, ast.Attribute) and node.attr in ("nan", "NaN", "NA") and isinstance(node.value, ast.Name)


def _partly(batch: NonfiniteBatch) -> bool:
    """A target that has some of a sample's values: the loss has to leave the others out, and that is where it is told."""
    return batch.role == "target" and batch.columns_total > 1


# -- the edit ----------------------------------------------------------------------------------------------------------


HOW = {
    "division": ": a small number keeps the divisor from zero",
    "logarithm": ": the logarithm of 0 is minus infinity, log1p(0) is 0",
    "ratio": ": one more of each keeps the ratio from zero and infinity",
    "angle": ": within -1 and 1 it is defined",
}


def how(found: Origin | None) -> str:
    """What the diff does."""
    if found is None or not found.operations:
        return ""
    return HOW.get("ratio" if _ratio_in_log(found.source, found.operations[0]) is not None else found.kind, "")


def _ratio_in_log(source: Source, made: Operation) -> ast.BinOp | None:
    """The `a / b` of `torch.log(a / b)`, whether the logarithm or the division was named."""
    call = made.node if made.kind == "logarithm" else source.parents.get(made.node)
    ratio = made.operand if made.kind == "logarithm" else made.node
    if not isinstance(call, ast.Call) or called(call) not in LOGS or not isinstance(ratio, ast.BinOp) or not isinstance(ratio.op, ast.Div):
        return None
    return ratio if not is_number(ratio.left) and not is_number(ratio.right) else None


@guess
def mended(found: Origin | None) -> str | None:
    """The diff that keeps the operations from it; None where it depends on what the numbers mean."""
    made = [list(_edits(found.source, o)) for o in found.operations] if found is not None else []
    edits = sorted((e for one in made for e in one), key=lambda e: e.start)
    apart = all(a.end <= b.start for a, b in pairwise(edits))
    return found.source.diff(*edits) if found is not None and made and all(made) and apart else None


def _edits(source: Source, made: Operation) -> Iterator[Edit]:
    node = made.node
    if (ratio := _ratio_in_log(source, made)) is not None:
        for side in (ratio.left, ratio.right):
            yield source.replacing(side, _bracketed(source, side, f"{source.segment(side)} + 1"))
    elif made.kind == "division" and made.by_statistic:
        yield source.replacing(made.operand, _bracketed(source, made.operand, f"{source.segment(made.operand)} + 1e-8"))
    elif made.kind == "logarithm" and isinstance(node, ast.Call) and called(node) == "log" and isinstance(node.func, ast.Attribute):
        yield source.replacing(node.func, source.segment(node.func) + "1p")  # of a count
    elif made.kind == "angle" and isinstance(node, ast.Call):
        yield source.replacing(made.operand, _within_one(source, node, made.operand))


def _bracketed(source: Source, node: ast.expr, text: str) -> str:
    """In brackets, unless the user wrote some around it."""
    start, end = source.offset(node.lineno, node.col_offset), source.offset(node.end_lineno or 0, node.end_col_offset or 0)
    return text if source.text[start - 1 : start] == "(" and source.text[end : end + 1] == ")" else f"({text})"


def _within_one(source: Source, call: ast.Call, operand: ast.expr) -> str:
    owner, text = receiver(call), source.segment(operand)
    if owner is not None and ast.unparse(owner) in ("np", "numpy"):
        return f"{ast.unparse(owner)}.clip({text}, -1, 1)"
    return f"{text if isinstance(operand, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else f'({text})'}.clamp(-1, 1)"
