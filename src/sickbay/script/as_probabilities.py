"""Whether the script takes a model's answers for probabilities: adds them up, weighs amounts with them, measures their squared error. Ranking and thresholding them is something else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Function, Source, called, keyword, receiver, sources
from sickbay.script.guesses import guess

SQUASHES = frozenset({"sigmoid", "softmax", "expit"})
OVERLAPS = re.compile(r"(?<![a-z])(?:dice|iou|jaccard|tversky|focal|entropy|attention|attn|gate)", re.IGNORECASE)
"""Parts of losses and networks, which add up such values as well."""
WEIGHS = ("pos_weight", "weight")


@guess
def taken_for_probabilities(record: Record) -> Place | None:
    """The first line that does so."""
    for source in sources(record):
        names = _names(source)
        for node in ast.walk(source.tree):
            if isinstance(node, (ast.Call, ast.BinOp)) and _counts_on(node, names) and not _part_of_a_model(source, node):
                return source.place(node.lineno)
    return None


@guess
def weighed_at(record: Record) -> Place | None:
    """Where a loss is given weights for its classes, if that is in one place."""
    found = [
        source.place(call.lineno)
        for source in sources(record)
        for call in source.calls("BCEWithLogitsLoss", "CrossEntropyLoss", "NLLLoss", "binary_cross_entropy_with_logits", "cross_entropy", "nll_loss")
        if any(keyword(call, name) is not None for name in WEIGHS)
    ]
    return found[0] if len(found) == 1 else None


def _names(source: Source) -> set[str]:
    """Variables that hold squashed answers, also as a function of the script's own gives them."""
    giving = {name for name, made in source.defined.items() for f in made if isinstance(f, Function) and any(map(_squashes, _returned(f)))}
    found = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            calls = {called(c) for c in ast.walk(node.value) if isinstance(c, ast.Call)}
            if (_squashes(node.value) or calls & giving) and not any(isinstance(n, ast.Compare) for n in ast.walk(node.value)):
                found.add(node.targets[0].id)
    return found


def _returned(function: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value


def _squashes(node: ast.AST) -> bool:
    return any(isinstance(c, ast.Call) and called(c) in SQUASHES for c in ast.walk(node))


def _is_answer(node: ast.AST | None, names: set[str]) -> bool:
    return (isinstance(node, ast.Name) and node.id in names) or (isinstance(node, ast.Call) and called(node) in SQUASHES)


def _counts_on(node: ast.Call | ast.BinOp, names: set[str]) -> bool:
    if isinstance(node, ast.BinOp):  # (p - y) ** 2
        inside = node.left
        return isinstance(node.op, ast.Pow) and isinstance(inside, ast.BinOp) and isinstance(inside.op, ast.Sub) and _is_answer(inside.left, names)
    if called(node) != "sum" or node.keywords:
        return False
    owner = receiver(node)
    module = isinstance(owner, ast.Name) and owner.id in ("torch", "np", "numpy")
    summed = node.args[0] if (owner is None or module) and len(node.args) == 1 else owner if not node.args else None
    weighed = (
        isinstance(summed, ast.BinOp) and isinstance(summed.op, ast.Mult) and any(_is_answer(side, names) for side in (summed.left, summed.right))
    )
    return _is_answer(summed, names) or weighed


def _part_of_a_model(source: Source, node: ast.AST) -> bool:
    for around in source.ancestors(node):
        if isinstance(around, Function) and (around.name == "forward" or OVERLAPS.search(around.name)):
            return True
        if isinstance(around, ast.ClassDef) and OVERLAPS.search(around.name):
            return True
    return bool(OVERLAPS.search(ast.unparse(source.statement(getattr(node, "lineno", None)) or node)))
