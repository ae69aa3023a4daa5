"""Graphs that outlive their step: losses that the script keeps, and graphs that grow from step to step.

A loss that is kept (`total += loss`, `losses.append(loss)`) keeps every operation behind it. The tensor itself may be gone by then: what lives
on is the node of the graph, held by the node that was added on top. So the node is marked, with an object of ours that dies with it.
"""

from __future__ import annotations

import weakref
from collections import deque
from typing import TYPE_CHECKING, Any

import torch

from sickbay import facts
from sickbay.observe.loaded import tensors
from sickbay.observe.observer import ForwardCall, LossCall, Observer, Site
from sickbay.observe.places import key_here, place_of

if TYPE_CHECKING:
    from sickbay.observe.session import Session

MOST_MARKED = 512
"""Marks that are remembered at once; beyond it the oldest are let go."""
COUNT_EVERY = 16
MOST_OPERATIONS = 20_000
MOST_COUNTS = 64
KEY, CALL_KEY, OUTPUT_KEY = "sickbay", "sickbay-call", "sickbay-output"
MOST_CALLS = 16


class Mark:
    """Lives as long as the node that it is put on."""

    __slots__ = ("__weakref__",)


class Entry:
    """One training loss."""

    def __init__(self, index: int, called_from: Any = None, output: bool = False) -> None:
        self.index = index
        self.called_from = called_from
        self.output = output
        self.marks: deque[tuple[int, weakref.ref[Mark]]] = deque(maxlen=MOST_MARKED)
        self.marked = self.alive = self.alive_last = self.oldest = self.backwards = self.retain = 0
        self.sizes: list[int] = []
        self.growths = 0

    def mark(self, node: Any, key: str, step: int) -> None:
        notes = getattr(node, "metadata", None)
        if isinstance(notes, dict) and notes.get(key) is None:  # the same loss may be differentiated twice
            notes[key] = mark = Mark()
            self.marks.append((step, weakref.ref(mark)))
            self.marked += 1

    def count(self, step: int) -> None:
        """How many graphs of earlier steps are alive. The last step's may be: a variable still holds its loss."""
        self.marks = deque((m for m in self.marks if m[1]() is not None), maxlen=MOST_MARKED)
        old = [at for at, _ in self.marks if at < step - 1]
        self.alive_last = len(old)
        self.alive = max(self.alive, len(old))
        self.oldest = max(self.oldest, step - min(old, default=step))

    def fact(self) -> facts.Kept:
        return facts.Kept(
            loss=self.index,
            called_at=place_of(*self.called_from) if self.called_from is not None else None,
            output=self.output,
            marked=self.marked,
            alive=self.alive,
            alive_last=self.alive_last,
            oldest=self.oldest,
            retain=self.retain,
            backwards=self.backwards,
            graph_first=self.sizes[0] if self.sizes else None,
            graph_last=self.sizes[-1] if self.sizes else None,
            graph_counts=len(self.sizes),
            graph_growths=self.growths,
        )


class KeptWatch(Observer):
    """Marks the graph of each loss when backward begins; counts what is still there some steps later."""

    name = "kept"
    sees = "graphs that are kept from step to step"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.entries: dict[int, Entry] = {}
        self.calls: dict[Any, Entry] = {}
        """By the line that calls a loss function: what it gives may be kept without ever being differentiated."""
        self.outputs: dict[Any, Entry] = {}
        """By the line that calls a model: so may what is made of its predictions."""

    def loss_called(self, call: LossCall | None) -> None:
        if call is not None and (key := key_here()) is not None:
            self._mark(self.calls, key, call.output.grad_fn, CALL_KEY)

    def forward_ends(self, call: ForwardCall, output: Any) -> None:
        if call.grad and call.place_key is not None:
            made = next((t.grad_fn for t in tensors(output) if t.grad_fn is not None), None)
            self._mark(self.outputs, call.place_key, made, OUTPUT_KEY)

    def _mark(self, entries: dict[Any, Entry], key: Any, node: Any, name: str) -> None:
        entry = entries.get(key)
        if node is None or (entry is None and len(entries) >= MOST_CALLS):
            return
        if entry is None:
            entry = entries[key] = Entry(-1, key, output=name == OUTPUT_KEY)
        entry.mark(node, name, self.session.step)
        if entry.marked % COUNT_EVERY == 0:
            entry.count(self.session.step)

    def backward_called(self, loss: torch.Tensor, site: Site, gradient: Any, retain: Any) -> None:
        entry = self.entries.get(site.index)
        if entry is None:
            entry = self.entries[site.index] = Entry(site.index)
        entry.backwards += 1
        entry.retain += bool(retain)
        node = loss.grad_fn
        entry.mark(node, KEY, self.session.step)
        if entry.backwards % COUNT_EVERY == 0:
            entry.count(self.session.step)
        if retain and len(entry.sizes) < MOST_COUNTS and (self.session.sampled or entry.retain <= 4):
            started = self.session.clock()
            size = graph_size(node)
            entry.growths += bool(entry.sizes) and size > entry.sizes[-1]
            entry.sizes.append(size)
            self.session.sample_seconds += self.session.clock() - started

    def report(self) -> None:
        for entry in (*self.entries.values(), *self.calls.values(), *self.outputs.values()):
            entry.count(self.session.step)
        known = [entry.fact() for entry in self.entries.values()]
        if all(f.alive < 2 for f in known):  # else it is these losses that are kept
            known += [entry.fact() for entry in self.calls.values()]
        if all(f.alive < 2 and not f.retain for f in known):  # else predictions are kept as a part of these graphs
            known += [entry.fact() for entry in self.outputs.values()]
        self.session.writer.fact("kept", [f for f in known if f.alive >= 2 or f.retain][:16])
        for fact in known:
            self.session.keep_source(fact.called_at)


def graph_size(node: Any) -> int:
    """How many operations are behind a loss."""
    seen, todo = {node}, [node]
    while todo and len(seen) < MOST_OPERATIONS:
        for following, _ in todo.pop().next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                todo.append(following)
    return len(seen)
