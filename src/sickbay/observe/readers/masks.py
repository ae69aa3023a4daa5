"""Dropout written by hand: a random mask of zeros that is multiplied onto what a layer gives, with further layers behind it."""

from __future__ import annotations

from dataclasses import replace

from sickbay import facts
from sickbay.observe.reading import SHAPE_ONLY, Reading
from sickbay.observe.trace import Node

_TIMES = frozenset({"mul", "rmul", "imul", "div", "truediv"})
_DRAWN = frozenset({"bernoulli", "rand", "rand_like", "uniform"})
_COMPARED = frozenset({"lt", "gt", "le", "ge", "floor", "round"})
LOOKS = 8
"""Readings in which masks are counted: their zeros are what is known of their rate."""
HOPS = 6


def read(reading: Reading) -> None:
    if reading.site.reads >= LOOKS:
        return
    last = max((n.index for n in reading.ancestors if any(t.requires_grad for t in n.sources)), default=-1)
    for node in reading.ancestors:
        if node.name not in _TIMES or len(node.args) != 2 or node.index > last or node.key is None:
            continue
        for argument in (0, 1):
            if not node.attached[argument] and node.attached[1 - argument] and _drawn(reading, node.args[argument]):
                _count(reading, node, argument)


def _drawn(reading: Reading, index: int | None) -> bool:
    """Made by drawing at random: `bernoulli_(keep)`, `(torch.rand(...) < keep).float()`."""
    for _ in range(HOPS):
        if index is None:
            return False
        node = reading.trace.nodes[index]
        if node.name in _DRAWN:
            return True
        if node.name not in SHAPE_ONLY | _COMPARED | _TIMES | {"add"}:
            return False
        index = next(iter(node.inputs), None)
    return False


def _count(reading: Reading, node: Node, argument: int) -> None:
    mask = reading.held(node, argument)
    if mask is None or not mask.numel():
        return
    known = reading.known("masks")
    reading.add("masks", node.key, facts.Mask(place=reading.place(node)), most=8)
    if node.key in known:
        before = known[node.key]
        known[node.key] = replace(before, zeros=before.zeros + int((mask.detach() == 0).sum()), count=before.count + mask.numel())
