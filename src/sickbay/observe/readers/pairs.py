"""Tables of all pairs, (N, 1) against (N,): which were meant, and which came about silently.

Kernels, distances and contrastive losses make such tables on purpose. What is done with them tells: a table that was meant is laid over another table (a mask, a
product of matrices), is used as a matrix, or is searched row by row. One that came about by mistake is squared and averaged.
"""

from __future__ import annotations

from math import prod

import torch

from sickbay.observe.reading import SHAPE_ONLY, Reading
from sickbay.observe.trace import Node, trainable

ELEMENTWISE = frozenset({"sub", "rsub", "add", "mul", "div", "truediv", "radd", "rmul", "isub", "pow", "absolute_difference", "maximum", "minimum"})
_AS_MATRIX = frozenset(
    "matmul mm bmm addmm baddbmm einsum linear softmax log_softmax logsumexp topk sort argsort triu tril diag diagonal trace fill_diagonal cumsum "
    "cholesky solve inv inverse det logdet slogdet eigh eigvalsh".split()
)
"""Operations that see rows and columns, not a bag of differences."""
_SEARCHED = frozenset({"min", "max", "amin", "amax", "argmin", "argmax"})


def pairs_are_meant(reading: Reading, node: Node) -> bool:
    """Whether one side is a weight itself (centres, frequencies), or what becomes of the table shows that all pairs are wanted."""
    if _is_weight(reading, node, 0) or _is_weight(reading, node, 1):
        return True
    tables = _tables(reading)
    return any(_wants_pairs(user, node.shape, tables) for user in _users(reading, node))


def _is_weight(reading: Reading, node: Node, argument: int) -> bool:
    while (maker := node.args[argument]) is not None and reading.trace.nodes[maker].name in SHAPE_ONLY and reading.trace.nodes[maker].args:
        node, argument = reading.trace.nodes[maker], 0
    source = reading.held(node, argument) if node.args[argument] is None else None
    return source is not None and trainable(source)


def _users(reading: Reading, node: Node) -> list[Node]:
    """The operations that take the table, or what became of it while it was a table."""
    tables, users = {node.index}, []
    for later in reversed(reading.ancestors):  # in the order in which they were done
        if not tables.isdisjoint(later.inputs):
            users.append(later)
            if later.shape == node.shape and later.name not in _AS_MATRIX:
                tables.add(later.index)
    return users


def _wants_pairs(user: Node, shape: tuple[int, ...], tables: set[int]) -> bool:
    if user.name in _AS_MATRIX or (user.name in _SEARCHED and user.shape not in ((), shape)):
        return True
    return any(s == shape and maker not in tables for s, maker in zip(user.shapes, user.args, strict=True))


def _tables(reading: Reading) -> set[int]:
    """All that silent broadcasts gave, and what was made of it: two of them in one line, `y * f(-z) + (1 - y) * f(z)`, do not excuse each other."""
    found: set[int] = set()
    for node in reversed(reading.ancestors):
        silent = node.name in ELEMENTWISE and len(node.shapes) > 1 and outer(node.shapes[0], node.shapes[1], same_rank=False) is not None
        if silent or not found.isdisjoint(node.inputs):
            found.add(node.index)
    return found


def outer(left: tuple[int, ...], right: tuple[int, ...], same_rank: bool) -> tuple[int, ...] | None:
    """The broadcast shape if it is larger than both operands and came about silently: their ranks differ, as (N, 1)
    against (N,). Code that wants all pairs writes the same rank on both sides, (N, 1) against (1, N)."""
    if left == right or not left or not right or (len(left) == len(right) and not same_rank):
        return None
    try:
        result: tuple[int, ...] = tuple(torch.broadcast_shapes(left, right))
    except RuntimeError:
        return None
    return result if prod(result) > prod(left) and prod(result) > prod(right) else None
