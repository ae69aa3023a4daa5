"""Elementwise operations whose operands silently grow against each other."""

from __future__ import annotations

from sickbay import facts
from sickbay.observe.places import expression_of
from sickbay.observe.readers.pairs import ELEMENTWISE, outer, pairs_are_meant
from sickbay.observe.reading import Reading, line_of
from sickbay.observe.syntax import operands
from sickbay.observe.trace import Node

_LOSS_ELEMENTWISE = frozenset(
    {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "poisson_nll_loss", "gaussian_nll_loss", "kl_div", "soft_margin_loss"}
)


def read(reading: Reading) -> None:
    for node in reading.ancestors:
        in_loss = node.name in _LOSS_ELEMENTWISE
        if (node.name not in ELEMENTWISE and not in_loss) or len(node.shapes) < 2 or node.key is None:
            continue
        left, right = node.shapes[:2]
        found = outer(left, right, same_rank=in_loss)
        side = _prediction(reading, node) if found is not None else None
        if found is None or side is None or (not in_loss and pairs_are_meant(reading, node)):
            continue
        reading.add("broadcasts", node.key, _broadcast(reading, node, found, side == 0, in_loss), most=8)


def _prediction(reading: Reading, node: Node) -> int | None:
    """Which side is the prediction: the one that depends on weights. Where both do, as in Q-learning (the target is a network's output, too), the one that
    gradients go through."""
    for sides in ([reading.depends(node, 0), reading.depends(node, 1)], node.attached[:2]):
        if sides[0] != sides[1]:
            return 0 if sides[0] else 1
    return None


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
