"""Loops that make very many small operations where one large one would do (the reading itself is in `rounds.py`)."""

from __future__ import annotations

import linecache
import os
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from statistics import fmean, median_low
from typing import TYPE_CHECKING, Any

import torch

from sickbay import facts
from sickbay.nouns import Place
from sickbay.observe.observer import Observer, Site
from sickbay.observe.places import place_of, user_stack
from sickbay.observe.rounds import FEWEST, REPEATED, Group, Line, groups_in, line_of
from sickbay.observe.syntax import loops_around
from sickbay.observe.trace import Node
from sickbay.observe.written_parts import Flow

if TYPE_CHECKING:
    from sickbay.observe.session import Session

MOST_LOOKS = 12
"""Steps: what a loop does is the same on each."""
MOST_KINDS = 4
TRIES, CHAIN = 5, 64

Stack = tuple[tuple[Any, int], ...]
Spot = tuple[str, int]
"""File and line."""


@dataclass
class Seen:
    """One loop over the looks."""

    body: Counter[Spot] = field(default_factory=Counter)
    rounds: list[int] = field(default_factory=list)
    operations: list[int] = field(default_factory=list)
    total: list[int] = field(default_factory=list)
    attached: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    each: list[float] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    truncated: bool = False


class LoopWatch(Observer):
    """Reads the operations of a followed step when it is over, just before the trace forgets them."""

    name = "loops"
    sees = "loops of very many small operations"
    takes = ("forward",)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        session.on_output.append(self._operation)
        self.counts: dict[Line, int] = {}
        self.stacks: dict[Line, Stack] = {}
        """Where lines that come often were called from."""
        self.training: Stack = ()
        """Where the newest backward pass was,"""
        self.losses: list[int] = []
        """...and which operations made what was differentiated in this step."""
        self.passed: set[int] = set()
        """Operations of the step under way that its backward passes go through."""
        self.looks = 0
        self.differentiated = 0
        self.seen: dict[Spot, Seen] = {}
        self.smallest: float | None = None

    def _operation(self, node: Node, _: torch.Tensor) -> None:
        if node.index < 0 or self.looks >= MOST_LOOKS:
            return
        line = line_of(node)
        self.counts[line] = count = self.counts.get(line, 0) + 1
        if count == REPEATED:
            self.stacks[line] = tuple(user_stack(sys._getframe(1)))

    def backward_begins(self, loss: torch.Tensor, site: Site) -> None:
        if self.counts and (trace := self.session.trace) is not None:
            self.training = tuple(user_stack(sys._getframe(1)))
            self.losses += [made] if (made := trace.maker(loss)) is not None else []

    def step_closed(self, _: int) -> None:
        trace, session = self.session.trace, self.session
        if trace is not None and trace.nodes and not trace.outputs_only and self.looks < MOST_LOOKS:
            self.looks += 1
            asked = session.autograd_grad_calls - self.differentiated
            if self.stacks and asked < FEWEST // 4:  # gradients of single samples or outputs are asked for on purpose
                started = session.clock()
                self._look()
                took = session.clock() - started
                session.sample_seconds += took
                session.structure_seconds += took
        self.differentiated = session.autograd_grad_calls
        self.counts, self.stacks, self.losses = {}, {}, []

    def _look(self) -> None:
        trace = self.session.trace
        assert trace is not None
        flow = Flow(trace.nodes, trace.stores)
        behind = set().union(*map(flow.ancestors, self.losses))
        self.passed = {i for i in behind if trace.nodes[i].output_attached}
        needed: set[Spot] = set()
        free: dict[Spot, list[Group]] = {}
        bodies: dict[Spot, Counter[Spot]] = {}
        for group in groups_in(trace.nodes, flow):
            found = self._loop_of(group)
            if found is None:
                continue
            if group.free:
                free.setdefault(found[0], []).append(group)
                bodies.setdefault(found[0], Counter()).update(found[1])
            else:
                needed.add(found[0])
        for loop, groups in free.items():
            if loop not in needed:
                self._note(loop, bodies[loop], groups)

    def _note(self, loop: Spot, body: Counter[Spot], groups: list[Group]) -> None:
        trace = self.session.trace
        assert trace is not None
        nodes = [n for g in groups for n in g.nodes]
        lines = {n.key for n in nodes} - {None}
        seen = self.seen.setdefault(loop, Seen())
        seen.body.update(body)
        seen.rounds.append(max(g.rounds for g in groups))
        seen.operations.append(len(nodes) + sum(s.key is not None and body[_spot(*s.key)] > 0 for s in trace.stores if s.key not in lines))
        seen.total.append(trace.seen)
        seen.attached.append(sum(n.index in self.passed for n in nodes) / max(len(self.passed), 1))
        seen.seconds.append(sum(n.seconds for n in nodes))
        seen.each.append(median_low(n.seconds for n in nodes))
        seen.numbers.append(max(groups, key=lambda g: len(g.nodes)).numbers)
        seen.kinds.update(n.name for n in nodes)
        seen.truncated |= trace.truncated
        if self.smallest is None:
            self.smallest = smallest_seconds()

    # -- where it is --------------------------------------------------------------------------------------------

    def _loop_of(self, group: Group) -> tuple[Spot, Counter[Spot]] | None:
        """The loop that most operations of a group run in (the inner one, unless that has to stay), and the lines of its body that they come from."""
        sizes = Counter(line_of(n) for n in group.nodes)
        covered: Counter[Spot] = Counter()
        bodies: dict[Spot, Counter[Spot]] = {}
        order: dict[Spot, int] = {}
        for line in group.lines:
            for depth, (loop, body) in enumerate(self._around(self.stacks.get(line, ()))):
                covered[loop] += sizes[line]
                bodies.setdefault(loop, Counter())[body] += sizes[line]
                order[loop] = max(order.get(loop, 0), depth)
        if not covered:
            return None
        most = max(covered.values())
        best = [loop for loop in covered if covered[loop] == most]
        chosen = (min if group.nested else max)(best, key=lambda loop: order[loop])
        return chosen, bodies[chosen]

    def _around(self, stack: Stack) -> list[tuple[Spot, Spot]]:
        """The loops around an operation that do not hold the whole training step, outermost first, each with the line of its body."""
        found: list[tuple[Spot, Spot]] = []
        training = [_spot(*key) for key in reversed(self.training)]
        together = True
        for depth, key in enumerate(reversed(stack)):
            file, line = _spot(*key)
            beside = training[depth] if together and depth < len(training) else None
            around = {(n.lineno, n.col_offset) for n in loops_around(*beside)} if beside is not None and beside[0] == file else set()
            for loop in loops_around(file, line):
                spot = (file, loop.lineno)
                if (loop.lineno, loop.col_offset) not in around and spot not in [s for s, _ in found]:
                    found.append((spot, (file, line)))
            together = beside == (file, line)
        return found

    # -- telling ------------------------------------------------------------------------------------------------

    def report(self) -> None:
        told = [self._fact(loop, seen) for loop, seen in self.seen.items()]
        told.sort(key=lambda loop: -loop.operations)
        for fact in told:
            self.session.keep_source(fact.place)
        self.session.writer.fact("loops", told[:MOST_KINDS])

    def _fact(self, loop: Spot, seen: Seen) -> facts.Loop:
        return facts.Loop(
            place=_place(*seen.body.most_common(1)[0][0]),
            loop=_place(*loop),
            rounds=median_low(seen.rounds),
            operations=median_low(seen.operations),
            total=median_low(seen.total),
            attached=median_low(seen.attached),
            numbers=median_low(seen.numbers),
            kinds=tuple(name for name, _ in seen.kinds.most_common(MOST_KINDS)),
            looks=self.looks,
            found=len(seen.rounds),
            truncated=seen.truncated,
            seconds=fmean(seen.seconds),
            each_seconds=median_low(seen.each),
            smallest_seconds=self.smallest or 0.0,
        )


def _spot(code: Any, lasti: int) -> Spot:
    place = place_of(code, lasti)
    return place.file or "", place.line or 0


def _place(file: str, line: int) -> Place:
    return Place(os.path.abspath(file), line, None, linecache.getline(file, line).strip() or None)


def smallest_seconds() -> float:
    """Seconds that an operation on a handful of numbers takes here and now, autograd's note of it included."""
    with torch.inference_mode(False), torch.enable_grad():
        factor = torch.full((8,), 0.5, device="cpu").requires_grad_()
        return median_low(_timed(factor) for _ in range(TRIES))


def _timed(factor: torch.Tensor) -> float:
    value = factor.detach()
    started = time.perf_counter()
    for _ in range(CHAIN):
        value = value * factor
    return (time.perf_counter() - started) / CHAIN
