"""The structure of a loss's graph as a traced step showed it, with the operation behind each of autograd's nodes.

Autograd numbers its nodes in the order in which they are made, and the trace knows how far that number had come after each operation: so every
node belongs to the operation that made it, inner nodes of composite ones included. On a later step that is not traced the live graph is
laid over the remembered one: where the names agree from the loss on, the lines are the same.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from sickbay.observe.forensics.live import LEAF, Live
from sickbay.observe.trace import Node, Trace

MOST_WIRINGS = 4
"""Different structures that are remembered per loss (a script may take turns); the newest are kept."""


CAN_FAIL = (
    frozenset("div truediv div_ itruediv rdiv rtruediv reciprocal log log2 log10 log1p xlogy sqrt rsqrt pow acos asin atanh logit".split()),
    frozenset({"exp", "expm1", "rpow"}),
    frozenset({"std", "var"}),
    frozenset({"mean", "softmax", "normalize"}),
)
"""Operations that give NaN or infinity at values that do occur, the likeliest first: data hold zeros more often than numbers above 88."""


class Wiring:
    """One structure and its operations. Holds nothing of the user's: names, numbers and code places."""

    def __init__(self, live: Live, trace: Trace, ends: dict[int, int]) -> None:
        self.names = live.names
        self.children = live.children
        self.operations = [_bare(node) for node in trace.nodes]
        """Of the whole step, also those that no gradient passes."""
        order = sorted(ends)
        reached = [ends[i] for i in order]
        self.owner: list[int | None] = []
        """For each node: the operation that made it."""
        for name, node in zip(live.names, live.nodes, strict=True):
            at = bisect_right(reached, node._sequence_nr()) if name != LEAF else len(order)
            self.owner.append(order[at] if at < len(order) else None)
        self._by_neighbours: dict[Any, int] | None = None

    def same(self, live: Live) -> bool:
        return self.names == live.names and self.children == live.children

    def match(self, live: Live) -> list[int | None]:
        """For each node of another graph: the operation that makes it, by structure from the loss on; what is left over (a loop that ran
        longer this time) by its neighbourhood."""
        if self.same(live):
            return list(self.owner)
        pairs = self._laid_over(live)
        known = self._neighbourhoods()
        found: list[int | None] = []
        for i in range(len(live.nodes)):
            mine = pairs.get(i)
            if mine is None:
                mine = next((known[k] for k in _neighbourhood(live.names, live.children, i) if k in known), None)
            found.append(self.owner[mine] if mine is not None else None)
        return found

    def _laid_over(self, live: Live) -> dict[int, int]:
        pairs: dict[int, int] = {}
        todo = [(0, 0)] if live.names[:1] == self.names[:1] and live.names else []
        while todo:
            i, mine = todo.pop()
            if i in pairs:
                continue
            pairs[i] = mine
            below, remembered = live.children[i], self.children[mine]
            if len(below) == len(remembered):
                for a, b in zip(below, remembered, strict=True):
                    if a is not None and b is not None and live.names[a] == self.names[b]:
                        todo.append((a, b))
        return pairs

    def _neighbourhoods(self) -> dict[Any, int]:
        if self._by_neighbours is None:
            self._by_neighbours = {}
            for i in range(len(self.names)):
                for key in _neighbourhood(self.names, self.children, i):
                    self._by_neighbours.setdefault(key, i)
        return self._by_neighbours

    def operation(self, index: int | None) -> Node | None:
        return self.operations[index] if index is not None else None

    def constant_maker(self, operation: Node) -> Node | None:
        """The operation that may have spoilt an input of this one through which no gradient passes (weights from counts, a scale made from the
        data): of those behind it that can give NaN or infinity from finite values the likeliest, then the first; None if there is none."""
        todo = [m for m, attached in zip(operation.args, operation.attached, strict=True) if m is not None and not attached]
        seen = set(todo)
        for maker in todo:
            below = [i for i in self.operations[maker].inputs if i not in seen]
            seen.update(below)
            todo += below
        behind = [self.operations[i] for i in sorted(seen)]
        return next((node for names in CAN_FAIL for node in behind if node.name in names), None)


def _neighbourhood(names: list[str], children: list[list[int | None]], index: int) -> list[Any]:
    """Keys under which a node is looked for, the most telling first: with its inputs' inputs, with its inputs."""
    below = [c for c in children[index] if c is not None]
    near = (names[index], *(names[c] for c in below))
    far = (near, *(tuple(names[d] for d in children[c] if d is not None) for c in below))
    return [far, near]


def _bare(node: Node) -> Node:
    """What may be kept of an operation: no tensors."""
    kept = Node(node.index, node.name)
    kept.key, kept.layer, kept.parent, kept.shape = node.key, node.layer, node.parent, node.shape
    kept.args, kept.attached = node.args, node.attached
    kept.shapes = node.shapes
    return kept


class Wirings:
    """The structures known of one loss."""

    def __init__(self) -> None:
        self.known: list[Wiring] = []

    def learn(self, live: Live, trace: Trace, ends: dict[int, int]) -> Wiring | None:
        """From a traced step, before its backward; None if it was known already (the very first trace begins with the model,
        a later one shows what the script does before)."""
        known = next((w for w in self.known if w.same(live)), None)
        if not live.nodes or (known is not None and len(known.operations) >= len(trace.nodes)):
            return None
        wiring = Wiring(live, trace, ends)
        self.known = [*[w for w in self.known if w is not known][-MOST_WIRINGS + 1 :], wiring]
        return wiring

    def best(self, live: Live) -> tuple[Wiring | None, list[int | None]]:
        """The structure that fits a live graph, and the operation of each of its nodes."""
        nothing: list[int | None] = [None] * len(live.nodes)
        fits = [(w, w.match(live)) for w in self.known]
        exact = next((f for f in fits if f[0].same(live)), None)
        return exact or max(fits, key=lambda f: sum(o is not None for o in f[1]), default=(None, nothing))
