"""Scripts that make and move their weights themselves: where they do, as the text of the script shows it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Source, called, keyword, receiver, sources
from sickbay.script.naming import named_numbers

MAKERS = frozenset("randn rand zeros ones full normal empty randn_like rand_like zeros_like ones_like tensor eye uniform linspace".split())
"""Functions that make a tensor."""
MOVES = frozenset("sub_ add_ copy_".split())


def updated_at(record: Record) -> Place | None:
    """The line of the learning rate that weights are moved by (`p -= lr * g`); where they are moved if its number is not found."""
    for source in sources(record):
        for statement in ast.walk(source.tree):
            step = _step(source, statement)
            if step is not None and isinstance(statement, ast.stmt):
                numbers = [n for name in dict.fromkeys(_factors(step)) for n in named_numbers(source, name)]
                return source.place(numbers[0].lineno if len(numbers) == 1 else statement.lineno)
    return None


def _step(source: Source, node: ast.AST) -> ast.expr | None:
    """What a statement takes from a weight, if that is what it does."""
    moved: ast.expr | None = None
    if (isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Sub)) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and called(node.value) in MOVES and receiver(node.value) is not None
    ):
        moved = node.value
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.Sub):
        same = ast.unparse(node.value.left) == ast.unparse(node.targets[0])
        moved = node.value.right if same else None
    if moved is None or not _multiplies(moved) or _averages(moved):
        return None
    return moved if "grad" in ast.unparse(moved) or _without_gradients(source, node) else None


def _multiplies(node: ast.expr) -> bool:
    products = any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult) for n in ast.walk(node))
    return products or (isinstance(node, ast.Call) and keyword(node, "alpha") is not None)


def _averages(node: ast.expr) -> bool:
    """`v.mul_(beta).add_(g, alpha=1 - beta)`: a running mean of gradients, not a step."""
    return isinstance(node, ast.Call) and isinstance(owner := receiver(node), ast.Call) and called(owner) == "mul_"


def _without_gradients(source: Source, node: ast.AST) -> bool:
    """Inside `with torch.no_grad():`, in a loop or function that differentiates."""
    quiet = any(isinstance(a, ast.With) and any("no_grad" in ast.unparse(i.context_expr) for i in a.items) for a in source.ancestors(node))
    return quiet and bool(source.calls("grad", "backward", within=source.function(node)))


def _factors(node: ast.expr) -> Iterator[str]:
    parts = [*node.args, *(k.value for k in node.keywords)] if isinstance(node, ast.Call) else [node]  # not the weight itself
    for n in (n for part in parts for n in ast.walk(part)):
        name = n.id if isinstance(n, ast.Name) else n.attr if isinstance(n, ast.Attribute) else ""
        if name and "grad" not in name:
            yield name


def made_at(record: Record) -> Place | None:
    """The only line of the script that makes matrices to be trained without any module: `torch.zeros(a, b, requires_grad=True)`."""
    found = {
        source.place(call.lineno)
        for source in sources(record)
        for call in source.calls(*MAKERS)
        if (len(call.args) >= 2 or any(isinstance(a, (ast.Tuple, ast.List)) and len(a.elts) >= 2 for a in call.args)) and _trained(source, call)
    }
    return found.pop() if len(found) == 1 else None


def _trained(source: Source, call: ast.Call) -> bool:
    wanted = keyword(call, "requires_grad")
    if wanted is not None:
        return isinstance(wanted.value, ast.Constant) and wanted.value.value is True
    outer = [a for a in source.ancestors(call) if isinstance(a, ast.Call) and a.lineno == call.lineno]
    return any(called(a) in ("requires_grad_", "Parameter") for a in outer)
