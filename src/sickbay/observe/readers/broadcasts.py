"""Elementwise operations whose operands silently grow against each other."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from sickbay import facts
from sickbay.observe.places import expression_of
from sickbay.observe.reading import Reading, line_of
from sickbay.observe.syntax import operands
from sickbay.observe.trace import Node

_ELEMENTWISE = frozenset({"sub", "rsub", "add", "mul", "div", "truediv", "radd", "rmul", "isub", "pow", "absolute_difference", "maximum", "minimum"})
_LOSS_ELEMENTWISE = frozenset(
    {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "poisson_nll_loss", "gaussian_nll_loss", "kl_div", "soft_margin_loss"}
)


def read(reading: Reading) -> None:
    for node in reading.ancestors:
        in_loss = node.name in _LOSS_ELEMENTWISE
        if (node.name not in _ELEMENTWISE and not in_loss) or len(node.shapes) < 2 or node.key is None:
            continue
        left, right = node.shapes[:2]
        found = _outer(left, right, same_rank=in_loss)
        sides = [reading.depends(node, 0), reading.depends(node, 1)]
        if found is None or sides[0] == sides[1]:
            continue
        reading.add("broadcasts", node.key, _broadcast(reading, node, found, sides[0], in_loss), most=8)


def _broadcast(reading: Reading, node: Node, result: tuple[int, ...], left_predicts: bool, in_loss: bool) -> facts.Broadcast:
    call = next((c.call for c in reading.calls if in_loss and c.call and line_of(c.place) == line_of(reading.place(node))), "")
    code, lasti = node.key or (None, 0)
    text = call or (expression_of(code, lasti) if code else "")
    left_text, right_text = operands(text)
    return facts.Broadcast(
        op=node.name,
        place=reading.place(node),
        call=text,
        left=node.shapes[0],
        right=node.shapes[1],
        result=result,
        left_text=left_text,
        right_text=right_text,
        prediction="left" if left_predicts else "right",
        in_loss_function=in_loss,
    )


def _outer(left: tuple[int, ...], right: tuple[int, ...], same_rank: bool) -> tuple[int, ...] | None:
    """The broadcast shape if it is larger than both operands and came about silently: their ranks differ, as (N, 1)
    against (N,). Code that wants all pairs writes the same rank on both sides, (N, 1) against (1, N)."""
    if left == right or not left or not right or (len(left) == len(right) and not same_rank):
        return None
    try:
        result: tuple[int, ...] = tuple(torch.broadcast_shapes(left, right))
    except RuntimeError:
        return None
    size = _product(result)
    return result if size > _product(left) and size > _product(right) else None


def _product(shape: Iterable[int]) -> int:
    product = 1
    for n in shape:
        product *= n
    return product
