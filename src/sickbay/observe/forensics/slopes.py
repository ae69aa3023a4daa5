"""Operations whose slope is infinite at some value: where they are in the graph of a loss, and whether one was given such a value.

When a loss is finite and its gradient is not, backward has freed what the graph kept. So for structures that hold such operations references to
the few values in question are taken before each backward, by a path that a traced step showed, and dropped after the step.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import torch

from sickbay.observe.forensics.live import LEAF, Live
from sickbay.observe.forensics.wiring import Wiring
from sickbay.observe.trace import Node

MOST_HOPS = 96
"""Nodes of the graph that are passed on each step to reach them (0.2 microseconds each); those nearest the loss come first."""
MOST_HELD = 24
MOST_ELEMENTS = 2**20
"""Larger values are not held."""

Mask = Callable[[torch.Tensor, Any], torch.Tensor]


def _not_finite(x: torch.Tensor, _: Any) -> torch.Tensor:
    return ~torch.isfinite(x)


def _zero(x: torch.Tensor, _: Any) -> torch.Tensor:
    return (x == 0) | ~torch.isfinite(x)


def _root(x: torch.Tensor, exponent: Any) -> torch.Tensor:
    if isinstance(exponent, torch.Tensor):
        small = (exponent < 1) & (exponent != 0)
        wrong = ((x == 0) & small) | ~torch.isfinite(x)
        return wrong | (x < 0) if exponent.requires_grad else wrong  # the slope in the exponent is a logarithm of the base
    if not isinstance(exponent, (int, float)) or exponent >= 1 or exponent == 0:
        return ~torch.isfinite(x)
    return (x == 0) | ~torch.isfinite(x) if float(exponent).is_integer() else (x <= 0) | ~torch.isfinite(x)


def _repeated(x: torch.Tensor, _: Any) -> torch.Tensor:
    """Two equal eigenvalues or singular values: the vectors' slope divides by their difference."""
    wrong = torch.zeros_like(x, dtype=torch.bool)
    wrong[..., 1:] = x[..., 1:] == x[..., :-1]
    return wrong


EDGES: dict[str, tuple[str, Mask]] = {
    "LogBackward0": ("self", _zero),
    "Log2Backward0": ("self", _zero),
    "Log10Backward0": ("self", _zero),
    "Log1PBackward0": ("self", lambda x, _: (x == -1) | ~torch.isfinite(x)),
    "SqrtBackward0": ("result", _zero),
    "RsqrtBackward0": ("result", _not_finite),
    "ReciprocalBackward0": ("result", _not_finite),
    "ExpBackward0": ("result", _not_finite),
    "DivBackward0": ("other", _zero),
    "PowBackward0": ("self", _root),
    "PowBackward1": ("self", _root),
    "AcosBackward0": ("self", lambda x, _: ~(x.abs() < 1)),
    "AsinBackward0": ("self", lambda x, _: ~(x.abs() < 1)),
    "AtanhBackward0": ("self", lambda x, _: ~(x.abs() < 1)),
    "AcoshBackward0": ("self", lambda x, _: ~(x > 1)),
    "HypotBackward0": ("result", _zero),
    "XlogyBackward0": ("other", _zero),
    "LogitBackward0": ("self", lambda x, _: ~((x > 0) & (x < 1))),
    "LinalgSvdBackward0": ("S", _repeated),
    "LinalgEighBackward0": ("eigenvalues", _repeated),
    "LinalgVectorNormBackward0": ("result", _not_finite),
    "NativeLayerNormBackward0": ("result2", _not_finite),
}
"""What a node keeps and the values of it at which torch's slope is infinite or NaN (tried out with torch 2.13; norms, distances and
standard deviations of zero are not among them: torch gives them a slope of 0)."""
FROM_RESULT: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "SqrtBackward0": torch.square,
    "RsqrtBackward0": lambda y: y.pow(-2),
    "ReciprocalBackward0": torch.reciprocal,
    "ExpBackward0": torch.log,
}
"""Back from what an operation gave to what it was given."""
NOT_HELD = frozenset({"NativeLayerNormBackward0", "LinalgVectorNormBackward0"})
"""In every transformer, and with torch's own guard: looked at only after something was seen to be wrong."""


@dataclass
class Steep:
    """One such operation of a structure."""

    node: int
    """In the wiring's order."""
    name: str
    operation: Node | None
    behind: frozenset[int]
    """Identities of the parameters that its gradient goes to."""


@dataclass(slots=True)
class Held:
    """The value one of them was given in one backward pass."""

    steep: Steep
    value: torch.Tensor
    exponent: Any
    drawn: Any = None
    """What the loader had drawn for the batch of that pass,"""
    passed: int = 0
    """...and the number of the pass."""

    def argument(self) -> torch.Tensor:
        """What the operation was given, worked out again where autograd keeps only what it gave."""
        value = self.value.detach()
        back = FROM_RESULT.get(self.steep.name)
        return back(value) if back is not None else value

    def wrong(self) -> torch.Tensor:
        return EDGES[self.steep.name][1](self.value.detach(), self.exponent)


@dataclass
class Path:
    """How to reach them from the loss: each node by an earlier one and the number of its input."""

    hops: list[tuple[int, int]] = field(default_factory=list)
    stops: list[tuple[int, Steep, str, str, str]] = field(default_factory=list)
    """Of the hops, what is there, its name, and the names under which it keeps the value (see live.py)."""

    def stop(self, at: int, steep: Steep) -> None:
        kept = EDGES[steep.name][0]
        self.stops.append((at, steep, steep.name, f"_raw_saved_{kept}", f"_saved_{kept}"))

    def hold(self, root: Any) -> list[Held]:
        """References to what they were given; those whose place holds something else this time are left out."""
        nodes = [root]
        for parent, position in self.hops:
            node = nodes[parent]
            below = node.next_functions if node is not None else ()
            nodes.append(below[position][0] if position < len(below) else None)
        held = []
        for at, steep, name, raw, kept in self.stops:
            node = nodes[at]
            if node is not None and node.name() == name and getattr(node, raw).unpack_hook is None:
                with suppress(RuntimeError):  # changed in place since
                    value = getattr(node, kept)
                    if value is not None and value.numel() <= MOST_ELEMENTS:
                        held.append(Held(steep, value, node._saved_exponent if name.startswith("Pow") else None))
        return held


def steep_in(wiring: Wiring, live: Live) -> list[Steep]:
    """The operations of a structure whose slope can be infinite, nearest the loss first. Divisions by a plain number are none."""
    behind = parameters_behind(live)
    found = []
    for i, name in enumerate(wiring.names):
        if name not in EDGES:
            continue
        operation = wiring.operation(wiring.owner[i])
        if name == "DivBackward0" and live.children[i][1:] in ([], [None]) and operation is not None and len(operation.args) < 2:
            continue
        if name == "PowBackward0":
            exponent = getattr(live.nodes[i], "_saved_exponent", None)
            if isinstance(exponent, (int, float)) and exponent >= 1:
                continue
        found.append(Steep(i, name, operation, behind[i]))
    return found


def path_to(wiring: Wiring, steep: list[Steep], everything: bool = False) -> Path:
    """The way to as many of them as may be visited on each step."""
    parent: dict[int, tuple[int, int]] = {}
    for i, below in enumerate(wiring.children):
        for position, child in enumerate(below):
            if child is not None and child not in parent and child != 0:
                parent[child] = (i, position)
    path, place = Path(), {0: 0}
    for one in steep:
        if len(path.stops) >= MOST_HELD:
            break
        if one.name in NOT_HELD and not everything:
            continue
        way: list[int] = []
        at = one.node
        while at not in place and (everything or len(path.hops) + len(way) <= MOST_HOPS):
            way.append(at)
            at = parent[at][0]
        if at not in place or (len(path.hops) + len(way) > MOST_HOPS and not everything):
            continue
        for i in reversed(way):
            above, position = parent[i]
            path.hops.append((place[above], position))
            place[i] = len(path.hops)
        path.stop(place[one.node], one)
    return path


def parameters_behind(live: Live) -> list[frozenset[int]]:
    """For each node: identities of the leaves that its gradient goes to."""
    bits: dict[int, int] = {}
    leaves: list[int] = []
    for i in live.from_the_leaves():
        if live.names[i] == LEAF:
            bits[i] = 1 << len(leaves)
            leaves.append(id(live.nodes[i].variable))
        else:
            bits[i] = 0
            for child in live.made(i):
                bits[i] |= bits.get(child, 0)
    return [
        frozenset(leaf for k, leaf in enumerate(leaves) if bits[i] >> k & 1) if _of_interest(name) else frozenset()
        for i, name in enumerate(live.names)
    ]


def _of_interest(name: str) -> bool:
    return name in EDGES
