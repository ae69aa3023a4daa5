"""Where NaN or infinity came from on steps that were not traced, and from operations whose slope is infinite.

`readers/invalid.py` does the same with the trace, where there is one: it sees every operation and its line.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from sickbay import facts
from sickbay.observe.autograd import Edge, edges
from sickbay.observe.observer import LossCall, Observer, Site
from sickbay.observe.ranges import ranges_of
from sickbay.observe.readers.arguments import is_raw
from sickbay.observe.readers.fragile import DIVISIONS
from sickbay.observe.readers.invalid import first
from sickbay.observe.reading import Reading

if TYPE_CHECKING:
    from sickbay.observe.session import Session

REFUSED = "all elements of input should be between 0 and 1"
"""What binary_cross_entropy says of an input that is no probability (or not a number)."""


class ForensicsWatch(Observer):
    """Looks once per loss, when it is first not finite, or its gradient is."""

    name = "forensics"
    sees = "where NaN or infinity came from on steps that were not traced"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.edges: list[Edge] = []
        self.unused: facts.FirstInvalid | None = None

    def loss_known(self, loss: torch.Tensor, site: Site) -> None:
        found = site.found.setdefault("invalid", {})
        if self.session.loss_finite is not False or found or self._traced():
            return
        found["first"] = self._in_graph(loss, site)

    def _traced(self) -> bool:
        return self.session.trace is not None and self.session.tracing and bool(self.session.trace.nodes)

    def _in_graph(self, loss: torch.Tensor, site: Site) -> facts.FirstInvalid:
        broken = next(
            (e.name for t, e in self.session.registry.entries() if t.is_floating_point() and not bool(torch.isfinite(t.detach()).all())), None
        )
        fact = facts.FirstInvalid(step=self.session.step, parameters_finite=broken is None)
        if broken is not None:
            return replace(fact, origin="parameter", name=broken)
        edge = next(reversed(list(edges(loss))), None)
        return fact if edge is None else _located(replace(fact, origin="operation"), edge, site)

    # -- a loss that is not finite and gets no backward -------------------------------------------------------------

    def loss_called(self, call: LossCall | None) -> None:
        if self.unused is not None or call is None or not call.grad or not call.output.is_cpu or call.output.numel() != 1:
            return
        if not math.isfinite(call.output.item()) and self.session.train_mode:
            site = next(iter(self.session.sites.values()), Site(-1, None))
            self.unused = self._in_trace(call.output) or self._in_graph(call.output, site)

    def _in_trace(self, loss: torch.Tensor) -> facts.FirstInvalid | None:
        trace, watch = self.session.trace, ranges_of(self.session)
        if not self._traced() or trace is None or watch is None or trace.maker(loss) is None:
            return None
        return first(Reading(self.session, trace, [], Site(-1, None), loss), watch)

    def report(self) -> None:
        known = any(site.found.get("invalid") for site in self.session.sites.values())
        if self.unused is not None and not known:
            self.session.keep_source(self.unused.place)
            self.session.writer.fact("unused_loss", self.unused)

    # -- a finite loss with a gradient that is not -----------------------------------------------------------------

    def backward_begins(self, loss: torch.Tensor, site: Site) -> None:
        self.edges = []
        if self.session.sampled and self.session.loss_finite and site.found.get("fragile") and not site.found.get("invalid"):
            self.edges = list(edges(loss))

    def backward_ends(self, _: Any) -> None:
        site = self.session.site
        if not self.edges or site is None:
            return
        gradients = [t.grad for t, _ in self.session.registry.entries() if t.grad is not None and t.grad.layout == torch.strided]
        if any(not bool(torch.isfinite(g).all()) for g in gradients):
            fact = facts.FirstInvalid(step=self.session.step, origin="operation", backward=True, parameters_finite=True)
            site.found.setdefault("invalid", {}).setdefault("first", _located(fact, self.edges[-1], site))
        self.edges = []

    # -- a loss function that refused its input ------------------------------------------------------------------

    def finish(self) -> None:
        crash, trace = self.session.crash, self.session.trace
        if crash is None or REFUSED not in crash.message or trace is None:
            return
        last = next((n for n in reversed(trace.nodes) if n.output_attached), None)
        if last is not None:
            reading = Reading(self.session, trace, [], Site(-1, None), torch.empty(0))
            head = facts.Head(
                function="binary_cross_entropy",
                called_at=crash.place,
                fed_by=tuple(reading.chain(last.index)),
                raw=is_raw(reading, reading.producer(last.index)),
            )
            for place in facts.places_in(head):
                self.session.keep_source(place)
            self.session.writer.fact("refused", head)


def _located(fact: facts.FirstInvalid, edge: Edge, site: Site) -> facts.FirstInvalid:
    """With the line that an earlier trace showed for this kind of operation: the one without a guard, nearest its edge."""
    same = DIVISIONS if edge.op in DIVISIONS else {edge.op}
    known = [f for f in site.found.get("fragile", {}).values() if f.op in same]
    best = min(known, key=lambda f: (f.guarded, -f.touched, f.lowest if f.lowest is not None else 0.0), default=None)
    fact = replace(fact, op=edge.op, lowest=edge.lowest, highest=edge.highest)
    return replace(fact, op=best.op, place=best.place, call=best.call) if best is not None else fact
