"""Prediction and target have different shapes, and broadcasting compares every prediction with every target.

## What happens

A prediction of shape (N, 1) and a target of shape (N,) broadcast to (N, N): the loss averages over all pairs. The best answer is then the
mean of the targets for every sample, and that is what the model learns. PyTorch warns once for its own losses, not for hand-written ones.

## How we know

Proof: on the way to the loss, prediction and target meet in an elementwise operation whose result is larger than both, and gradients go
through one side only: the other does not depend on trainable parameters, or (Q-learning, teachers) was cut off from them.

## Looks like it but is not

- All pairs on purpose (contrastive losses, kernels, quantiles): both sides are written with the same number of dimensions, (N, 1)
  against (1, N), or the line itself adds the dimension; and the table of pairs is used as one: laid over a mask or another table, multiplied
  as a matrix, searched row by row.
- Data against weights (centres, frequencies) that happen to be as many as the samples.
- A scalar or a row of weights that broadcasts: the result is no larger than the prediction.

## Fix

Give both the same shape: `.squeeze(-1)` on the prediction or `.unsqueeze(1)` on the target.

## References

- https://docs.pytorch.org/docs/stable/notes/broadcasting.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from math import prod

from sickbay.causes.evidence import located, proof, shape, strong
from sickbay.causes.registry import cause
from sickbay.facts import Broadcast
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.script.fixing import Edit, Source, called, mend, source_at
from sickbay.signs import Signs

CHOOSING = ("gather", "take_along_dim")
"""`q.gather(1, action.unsqueeze(1))`: the dimension is added to the indices."""


@cause(
    code="P307",
    level="procedure",
    title="prediction and target broadcast against each other",
    why="Every prediction is compared with every target of the batch, so the best the model can learn is the mean of the targets.",
    explains={
        "flat-loss", "early-plateau", "slow-descent", "val-flat-from-start", "chance-level", "small-gradients", "lr-too-low", "vanishing-gradient",
        "lr-too-high", "gradient-decay-with-depth", "dead-units", "dead-relu", "loss-spikes", "oscillating-loss",
    },
    cure="reshape-target",
)  # fmt: skip
def shape_broadcast(record: Record, signs: Signs) -> Iterator[Evidence]:
    for b in {(b.place, b.left, b.right): b for b in reversed(_accidents(record))}.values():
        call = f"`{b.call}`" if b.call else b.op
        text = f"{call}{located(b.place)} compares {shape(b.left)} with {shape(b.right)} and broadcasts to {shape(b.result)}: all pairs instead of {max(b.left[0], b.right[0])} comparisons"
        certain = b.in_loss_function or not _adds_dimension(b)
        yield (proof if certain else strong)(text, b.place, pairs=prod(b.result))


def _accidents(record: Record) -> list[Broadcast]:
    return [b for loss in record.facts.losses for b in loss.broadcasts if _is_accident(b)]


def _is_accident(b: Broadcast) -> bool:
    """The same values but for dimensions of one, on both sides; only one side is a prediction."""
    if not b.left or not b.right or prod(b.result) <= max(prod(b.left), prod(b.right)):
        return False
    if b.in_loss_function:
        return True
    same = tuple(n for n in b.left if n != 1) == tuple(n for n in b.right if n != 1)
    return same and len(b.left) != len(b.right) and b.prediction in ("left", "right")


def _adds_dimension(b: Broadcast) -> bool:
    """The line itself makes the column, `p[:, None] - y`: that may be meant."""
    column = b.left_text if len(b.left) > len(b.right) else b.right_text
    nodes = _walk(column)
    choosing = [n for n in nodes if isinstance(n, ast.Call) and called(n) in CHOOSING]
    indices = {id(n) for call in choosing for a in (*call.args, *(k.value for k in call.keywords)) for n in ast.walk(a)}
    return any(_makes_dimension(n) for n in nodes if id(n) not in indices)


def _makes_dimension(node: ast.AST) -> bool:
    return (isinstance(node, ast.Constant) and node.value is None) or (isinstance(node, ast.Attribute) and node.attr in ("unsqueeze", "newaxis"))


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    accidents = _accidents(record)
    b = next(iter(accidents), None)
    source = source_at(record, b.place) if b is not None else None
    if b is None:
        return Fix("give prediction and target the same shape", "prediction.squeeze(-1)")
    if len(accidents) > 1:
        name = _common_column(accidents)
        statement = source.statement(b.place.line) if source is not None and b.place is not None else None
        diff = source.diff(source.before(statement, f"{name} = {name}.squeeze(-1)")) if source is not None and statement is not None and name else ""
        return mend("give prediction and target the same shape", diff, f"{name or 'prediction'} = {name or 'prediction'}.squeeze(-1)")
    prediction, target = (b.left_text, b.right_text) if b.prediction != "right" else (b.right_text, b.left_text)
    p, t = (b.left, b.right) if b.prediction != "right" else (b.right, b.left)
    if len(p) > len(t) and p[-1] == 1:
        side, added = prediction, ".squeeze(-1)"
    elif len(t) > len(p) and t[-1] == 1:
        side, added = target, ".squeeze(-1)"
    else:
        side, added = target, f".view_as({prediction or 'prediction'})"
    diff = source.diff(_suffix(source, b, side, added)) if source is not None else ""
    return mend("give prediction and target the same shape", diff, f"{side or 'prediction'}{added}")


def _common_column(accidents: list[Broadcast]) -> str:
    """The one name that makes the column in all of them: `z` in `y * f(-z) + (1 - y) * f(z)`."""
    names = [_names(b.left_text if len(b.left) > len(b.right) else b.right_text) for b in accidents]
    others = set[str]().union(*(_names(b.right_text if len(b.left) > len(b.right) else b.left_text) for b in accidents))
    common = set[str].intersection(*names) - others
    return common.pop() if len(common) == 1 else ""


def _names(expression: str) -> set[str]:
    nodes = _walk(expression)
    functions = {ast.unparse(n.func).partition(".")[0] for n in nodes if isinstance(n, ast.Call)}
    return {n.id for n in nodes if isinstance(n, ast.Name)} - functions


def _walk(expression: str) -> list[ast.AST]:
    try:
        return [*ast.walk(ast.parse(expression or "0", mode="eval"))]
    except SyntaxError:
        return []


def _suffix(source: Source, b: Broadcast, side: str, added: str) -> Edit | None:
    """The operand on this line with `.squeeze(-1)` after it."""
    line = b.place.line if b.place else None
    statement = source.statement(line)
    matches = [n for n in ast.walk(statement) if isinstance(n, ast.expr) and side and ast.unparse(n) == side] if statement is not None else []
    if not matches:
        return None
    node = matches[0]
    text = source.segment(node)
    simple = isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    return source.replacing(node, f"{text}{added}" if simple else f"({text}){added}")
