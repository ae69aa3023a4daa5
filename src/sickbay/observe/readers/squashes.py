"""Logits that are squashed before an operation that expects them raw."""

from __future__ import annotations

from dataclasses import replace

from sickbay import facts
from sickbay.observe.reading import Reading
from sickbay.observe.trace import Node

_EXPECT_LOGITS = frozenset({"log_softmax", "cross_entropy", "binary_cross_entropy_with_logits", "multilabel_soft_margin_loss"})
_SQUASH = frozenset({"softmax", "sigmoid", "softmin"})


def read(reading: Reading) -> None:
    for outer in reading.ancestors:
        inner = reading.producer(outer.args[0]) if outer.name in _EXPECT_LOGITS and outer.args else None
        if inner is not None and (inner.name in _SQUASH or _softmax_by_hand(reading, inner)):
            made = reading.op(inner)
            pair = facts.LogitsThroughSoftmax(outer=reading.op(outer), inner=made if inner.name in _SQUASH else replace(made, name="softmax"))
            reading.add("squashed", (outer.key, inner.key, inner.name), pair)


def _softmax_by_hand(reading: Reading, node: Node) -> bool:
    """exp(x) / exp(x).sum(...): the same exponentials above and below."""
    if node.name not in ("div", "truediv") or len(node.args) < 2:
        return False
    above, below = reading.producer(node.args[0]), reading.producer(node.args[1])
    if above is None or below is None or above.name != "exp" or below.name != "sum" or not below.args:
        return False
    return reading.producer(below.args[0]) is above
