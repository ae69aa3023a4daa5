"""Losses written by hand: a prediction and a given target whose difference is squared, or taken the size of."""

from __future__ import annotations

import torch

from sickbay import facts
from sickbay.observe.places import expression_of
from sickbay.observe.readers.heads import LOOKS, with_values
from sickbay.observe.reading import Reading
from sickbay.observe.trace import Node

_DIFFERENCE = frozenset({"sub", "rsub"})
_SIZE = frozenset({"pow", "square", "abs", "mul", "norm", "vector_norm", "linalg_norm", "linalg_vector_norm", "logcosh", "cosh"})


def read(reading: Reading) -> None:
    sized = {i for node in reading.ancestors if node.name in _SIZE for i in node.inputs}
    for node in reading.ancestors:
        if node.name not in _DIFFERENCE or node.index not in sized or node.key is None or len(node.shapes) != 2 or node.shapes[0] != node.shapes[1]:
            continue
        sides = [reading.depends(node, 0), reading.depends(node, 1)]
        if sides[0] == sides[1]:
            continue
        prediction, target = (0, 1) if sides[0] else (1, 0)
        held, given = reading.held(node, target), reading.held(node, prediction)
        if held is None or not held.is_floating_point():
            continue
        known = reading.known("by_hand")
        if node.key not in known:
            reading.add("by_hand", node.key, _head(reading, node, prediction, held), most=8)
        if node.key in known and reading.looks_again("by_hand", node.key, LOOKS):
            known[node.key] = with_values(known[node.key], given, held)


def _head(reading: Reading, node: Node, prediction: int, target: torch.Tensor) -> facts.Head:
    code, lasti = node.key or (None, 0)
    return facts.Head(
        function="difference",
        called_at=reading.place(node),
        call=expression_of(code, lasti) if code else "",
        input_shape=node.shapes[prediction],
        target_shape=tuple(target.shape),
        target_dtype=str(target.dtype).removeprefix("torch."),
        fed_by=tuple(reading.chain(node.args[prediction])),
    )
