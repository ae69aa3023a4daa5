"""Where a value that depends on trainable parameters lost its gradient on the way to the loss."""

from __future__ import annotations

import linecache

from sickbay import facts
from sickbay.nouns import Place
from sickbay.observe.places import place_of
from sickbay.observe.reading import NO_GRADIENT, Reading
from sickbay.observe.syntax import grad_switched_off_at
from sickbay.observe.trace import Node

_EXITS = frozenset({"item", "numpy", "tolist", "float", "array"})
_DRAWS = frozenset({"multinomial", "bernoulli", "poisson", "normal", "randint_like", "binomial"})
"""Drawing at random has no gradient by nature, and scripts that draw mostly know: blamed only where nothing else is."""


def read(reading: Reading) -> None:
    cuts = [n for n in reading.ancestors if n.cut or n.name in NO_GRADIENT]
    meant = [n for n in cuts if n.name not in _DRAWS]
    if reading.rebuilt or not any(_arriving(reading, n) for n in meant):
        # The value left torch altogether and came back as a new tensor.
        meant += [n for n in reading.trace.nodes if n.name in _EXITS and reading.behind[n.index] and not n.shape]
        meant += [n for n in reading.trace.nodes if n.cut and reading.rebuilt]
    found = [(n, lost) for n in meant if (lost := _arriving(reading, n))]
    # A second cut on the same way is no cause: without it the first would still be there.
    for node, lost in found or [(n, lost) for n in (*cuts, *meant) if (lost := reading.behind[n.index] & ~reading.reached)]:
        _add_cut(reading, node, reading.names(lost))


def _arriving(reading: Reading, node: Node) -> int:
    """Parameters that the loss does not reach, and that a gradient could reach from here if the operation let it pass."""
    return reading.arriving(node) & ~reading.reached


def _add_cut(reading: Reading, node: Node, names: tuple[str, ...]) -> None:
    name, place = node.name, reading.place(node)
    if not node.grad and node.stack:
        name, place = "no_grad", _no_grad_place(reading, node) or place
    key = (name, place.file if place else None, place.line if place else None)
    known = reading.known("cuts")
    merged = tuple(dict.fromkeys((known[key].parameters if key in known else ()) + names))
    known[key] = facts.Cut(op=name, place=place, parameters=merged)


def _no_grad_place(reading: Reading, node: Node) -> Place | None:
    for code, lasti in node.stack:
        inner = place_of(code, lasti)
        if inner.file and inner.line and (line := grad_switched_off_at(inner.file, inner.line)):
            return Place(inner.file, line, reading.layer(node), linecache.getline(inner.file, line).strip() or None)
    return None
