"""Finds, among the operations of one step, those that a loop made which did not need to be one: the same lines again and again, on parts of one tensor, no round using
what another made.

Rounds are told from the operations alone. A line that comes often enough is *repeated*; repeated lines that feed one another belong together. If an operation was made
from an earlier one of the same line, there is a chain: a recurrence has one chain as long as the loop, a loop over samples has as many first links as samples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import Any

from sickbay.observe.trace import Node, trainable
from sickbay.observe.written_parts import Flow

FEWEST = 32
"""Rounds. Heads, layers, members of an ensemble and steps of a short unrolling are fewer; batches, pixels, words and pairs are more."""
REPEATED = 8
"""Times that a line must come to count as part of a loop: a branch may be taken in some of the rounds only."""
ALIKE = 0.9
"""Of a line's operations, those that are given and make tensors of the same shapes: samples of many sizes cannot simply be put together, though each gives one number."""
SUMS = tuple(frozenset(names.split()) for names in ("add iadd radd sub isub rsub", "mul imul rmul", "cat", "maximum minimum max min", "logaddexp"))
"""Operations by which rounds are gathered: a sum is a chain too, but one that a single operation replaces. Not several kinds at once: those are recurrences."""
SPLITS = frozenset("unbind split chunk tensor_split hsplit vsplit".split())
TAKING = frozenset("getitem select narrow index_select".split())
EXITS = frozenset("item tolist numpy bool int float".split())
TURNS = 0.25
"""Of the parts in the order in which they are taken, those that come before their forerunner: half of them in any order, one per round of an outer loop in a
nested one."""
REENTRIES = frozenset("tensor as_tensor asarray scalar_tensor frombuffer".split())
"""What comes from outside torch in each round may be made from what the round before gave (an environment, a decoder's own words)."""

Line = tuple[Any, int]
"""An expression of the user's, in one layer."""


def line_of(node: Node) -> Line:
    layer = node.layer() if node.layer is not None else None
    return node.key, id(layer) if layer is not None else 0


@dataclass
class Group:
    """Repeated lines that feed one another."""

    lines: set[Line] = field(default_factory=set)
    nodes: list[Node] = field(default_factory=list)
    rounds: int = 0
    nested: bool = False
    """Within a round, operations of one line follow from each other: an inner loop that has to stay."""
    free: bool = False
    """Its rounds do not need each other, and one operation on the whole could do what each of its lines does."""

    @property
    def numbers(self) -> int:
        return sorted(prod(n.shape) for n in self.nodes)[len(self.nodes) // 2]


def groups_in(nodes: Sequence[Node], flow: Flow) -> list[Group]:
    """The loops of a step that are long enough, also those that have to be loops."""
    lines = [line_of(n) for n in nodes]
    counts = Counter(line for line in lines if line[0] is not None)
    repeated = {line for line, count in counts.items() if count >= REPEATED}
    return _Reader(nodes, lines, repeated, flow).groups() if repeated else []


class _Reader:
    def __init__(self, nodes: Sequence[Node], lines: list[Line], repeated: set[Line], flow: Flow) -> None:
        self.nodes, self.lines, self.repeated, self.flow = nodes, lines, repeated, flow
        self.of: dict[Line, list[int]] = {line: [] for line in repeated}
        for i, line in enumerate(lines):
            if line in self.of:
                self.of[line].append(i)
        self.sums = self._sums()
        self.chained = self._chained()

    def groups(self) -> list[Group]:
        leader = {line: line for line in self.repeated}

        def lead(line: Line) -> Line:
            while leader[line] != line:
                line = leader[line]
            return line

        for i, line in enumerate(self.lines):
            if line in self.repeated:
                for p in self.flow.before[i]:
                    if self.lines[p] in self.repeated and (one := lead(line)) != (other := lead(self.lines[p])):
                        leader[one] = other
        found: dict[Line, Group] = {}
        for line in self.repeated:
            found.setdefault(lead(line), Group()).lines.add(line)
        return [self._judged(g) for g in found.values()]

    def _judged(self, group: Group) -> Group:
        group.nodes = [n for n, line in zip(self.nodes, self.lines, strict=True) if line in group.lines]
        heads = {line: self._heads(line) for line in group.lines - self.sums}
        taken = [line for line in heads if self._takes_parts(line)]
        group.rounds = min((n for line in taken if (n := len(heads[line])) >= FEWEST), default=0)
        group.nested = any(_spread(heads[line], self.of[line]) for line in heads)
        group.free = (
            group.rounds >= FEWEST
            and all(len(h) >= FEWEST or len(h) == len(self.of[line]) for line, h in heads.items())
            and all(map(self._alike, group.lines))
            and not any(map(self._brought_in, group.lines))
            and not any(map(self._own_weights, group.lines))
            and (not self._leaves(group) or any(map(self._in_order, taken)))
        )
        return group

    # -- chains -------------------------------------------------------------------------------------------------

    def _sums(self) -> set[Line]:
        """Lines that only add each round's result to those before."""
        return set().union(*map(self._sums_of, SUMS))

    def _sums_of(self, names: frozenset[str]) -> set[Line]:
        found = {line for line in self.repeated if all(self.nodes[i].name in names for i in self.of[line])}
        while True:
            links: Counter[Line] = Counter()
            passed_on: set[Line] = set()
            for i, line in enumerate(self.lines):
                for p in self.flow.before[i]:
                    if self.lines[p] in found:
                        if line in found:
                            links[line] += 1
                        elif line in self.repeated and self.nodes[i].name not in EXITS:
                            passed_on.add(self.lines[p])
            kept = {line for line in found - passed_on if links[line] >= len(self.of[line]) // 2}
            if kept == found:
                return found
            found = kept

    def _chained(self) -> list[bool]:
        """For each operation: whether it was made from an earlier one of its own line."""
        bits = {line: 1 << k for k, line in enumerate(self.repeated)}
        behind: list[int] = []
        chained: list[bool] = []
        for i, line in enumerate(self.lines):
            mask = 0
            for p in self.flow.before[i]:
                mask |= behind[p]
            bit = 0 if line in self.sums else bits.get(line, 0)
            chained.append(bool(mask & bit))
            behind.append(mask | bit)
        return chained

    def _heads(self, line: Line) -> list[int]:
        return [i for i in self.of[line] if not self.chained[i]]

    # -- what a round works on --------------------------------------------------------------------------------------

    def _takes_parts(self, line: Line) -> bool:
        """Its operations take the parts of one tensor that was there before the loop."""
        roots = {root for i in self.of[line] for root in self._whole(i)}
        regions = [self.nodes[i].region for i in self.of[line]]
        if None not in regions and len(set(regions)) < REPEATED:
            return False  # again and again the same part
        return 0 < len(roots) <= max(1, len(self.of[line]) // FEWEST)

    def _whole(self, i: int) -> Iterator[Any]:
        node = self.nodes[i]
        if node.name in TAKING and self.flow.origins[i]:
            yield self.flow.origins[i][0][0]
            return
        for maker in node.args:
            if maker is not None and self.nodes[maker].name in SPLITS:
                yield self.flow.spots[maker][0]
        for tensor in node.sources:
            if not trainable(tensor) and not tensor.is_inference() and tensor._is_view() and tensor._base is not None:
                yield id(tensor._base)

    def _alike(self, line: Line) -> bool:
        nodes = [self.nodes[i] for i in self.of[line]]
        shapes = Counter((n.shape, frozenset(n.shapes if n.name not in TAKING else ())) for n in nodes)
        return shapes.most_common(1)[0][1] >= ALIKE * len(self.of[line])

    def _brought_in(self, line: Line) -> bool:
        """Each round is given a tensor of its own that no operation made."""
        of = self.of[line]
        own = {id(t) for i in of for t in self.nodes[i].sources if not trainable(t) and not (not t.is_inference() and t._is_view())}
        return len(own) >= FEWEST or sum(self.nodes[i].name in REENTRIES for i in of) >= FEWEST

    def _own_weights(self, line: Line) -> bool:
        """Each round has weights of its own: members of an ensemble, one table per column."""
        of = self.of[line]
        return len({id(t) for i in of for t in self.nodes[i].sources if trainable(t)}) >= FEWEST // 2

    def _leaves(self, group: Group) -> bool:
        return sum(n.name in EXITS and not n.shape for n in group.nodes) >= FEWEST

    def _in_order(self, line: Line) -> bool:
        """The parts are taken one after the other, not as what was computed says."""
        taken = [r for i in self.of[line] if self.nodes[i].name in TAKING and (r := self.nodes[i].region) is not None]
        if len(taken) < sum(self.nodes[i].name in TAKING for i in self.of[line]):
            return False
        back = sum(after < before for before, after in pairwise(taken))
        return back <= TURNS * len(taken)


def _spread(heads: list[int], all_of_them: list[int]) -> bool:
    """First links come again and again among the others, so that a chain is one round of an outer loop."""
    return len(heads) < len(all_of_them) and bool(heads) and all_of_them.index(heads[-1]) > len(all_of_them) // 2
