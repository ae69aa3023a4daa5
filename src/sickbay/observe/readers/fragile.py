"""Operations written by hand that have values at which they, or their slope, are infinite: logarithms, roots, divisions, exponentials."""

from __future__ import annotations

import math
import re
from dataclasses import replace

from sickbay import facts
from sickbay.observe.places import expression_of
from sickbay.observe.readers.arguments import argument, extent, is_raw, shifts
from sickbay.observe.reading import SHAPE_ONLY, Reading
from sickbay.observe.trace import Node

LOGARITHMS = frozenset({"log", "log2", "log10", "xlogy"})
ROOTS = frozenset({"sqrt", "rsqrt"})
DIVISIONS = frozenset({"div", "truediv", "div_", "itruediv", "reciprocal", "rdiv", "rtruediv"})
EXPONENTIALS = frozenset({"exp", "expm1", "cosh", "sinh", "rpow"})
ARCS = frozenset({"acos", "asin", "arccos", "arcsin", "atanh"})
POWERS = frozenset({"pow"})
_ALL = LOGARITHMS | ROOTS | DIVISIONS | EXPONENTIALS | ARCS | POWERS
_WORDS = {"truediv": "/", "div": "/|div", "rdiv": "/", "rtruediv": "/", "itruediv": "/", "div_": "div", "rpow": r"\*\*", "pow": r"\*\*|pow"}


def read(reading: Reading) -> None:
    for node in reading.ancestors:
        if node.name not in _ALL or node.key is None or not node.output_attached:
            continue
        which = 1 if node.name in DIVISIONS and len(node.args) > 1 else 0
        if which >= len(node.args) or not (reading.depends(node, which) or node.name in DIVISIONS):
            continue
        call = expression_of(*node.key)
        if not re.search(_WORDS.get(node.name, rf"\b{node.name}\b"), call):
            continue  # inside a library function that the script called
        known = reading.known("fragile")
        key = (node.key, node.name)
        if key not in known:
            reading.add("fragile", key, _fragile(reading, node, which, call))
        if key in known:
            known[key] = _seen(reading, known[key], node, which)


def _fragile(reading: Reading, node: Node, which: int, call: str) -> facts.Fragile:
    made = argument(reading, node.args[which])
    return facts.Fragile(
        op=node.name,
        place=reading.place(node),
        call=call,
        made_from=reading.op(made.node) if made.node is not None else None,
        raw=is_raw(reading, made.node),
        alone=made.node is not None and node.name in LOGARITHMS and _only_logarithms(reading, made.node),
        feeds=tuple(sorted({n.name for n in reading.ancestors if any(reading.producer(i) is node for i in n.inputs)} - SHAPE_ONLY)),
        guarded=made.guarded,
        complement=made.complement,
    )


def _only_logarithms(reading: Reading, made: Node) -> bool:
    users = [n for n in reading.ancestors if n.index > made.index and n.name not in SHAPE_ONLY and not shifts(reading, n)]
    return all(n.name in LOGARITHMS for n in users if any(argument(reading, i).node is made for i in n.inputs))


def _seen(reading: Reading, known: facts.Fragile, node: Node, which: int) -> facts.Fragile:
    found = extent(reading, node, which)
    if found is None or not all(map(math.isfinite, found)):
        return replace(known, reads=known.reads + 1)
    low, high = found
    return replace(
        known,
        reads=known.reads + 1,
        touched=known.touched + at_the_edge(node.name, low, high),
        lowest=low if known.lowest is None else min(low, known.lowest),
        highest=high if known.highest is None else max(high, known.highest),
    )


def at_the_edge(op: str, low: float, high: float) -> bool:
    """Whether values from `low` to `high` surely touch a point where the operation or its slope is infinite."""
    if op in LOGARITHMS | ROOTS:
        return low <= 0
    if op in DIVISIONS:
        return low == 0 or high == 0
    if op in ARCS:
        return low <= -1 or high >= 1
    return False
