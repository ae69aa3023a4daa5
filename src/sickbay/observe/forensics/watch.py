"""Notices the first value that is not finite, in its own step, and finds where it came from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from sickbay import facts
from sickbay.observe.batches import BatchWatch
from sickbay.observe.forensics import details
from sickbay.observe.forensics.gradients import Guard, broken_gradients, choose, entrances_of, first_uses
from sickbay.observe.forensics.leftover import leftover_loss
from sickbay.observe.forensics.live import LEAF, Live
from sickbay.observe.forensics.origin import family, search
from sickbay.observe.forensics.slopes import NOT_HELD, Held, Path, Steep, path_to, steep_in
from sickbay.observe.forensics.values import NAN, Values, kind_of
from sickbay.observe.forensics.wiring import Wirings
from sickbay.observe.observer import ForwardCall, LossCall, Observer, Site
from sickbay.observe.places import user_frame
from sickbay.observe.ranges import ranges_of
from sickbay.observe.readers.arguments import is_raw
from sickbay.observe.readers.invalid import first
from sickbay.observe.reading import Reading
from sickbay.observe.skips import SkipWatch
from sickbay.observe.trace import Node

if TYPE_CHECKING:
    from sickbay.observe.session import Session

REFUSED = "all elements of input should be between 0 and 1"
"""What binary_cross_entropy says of an input that is no probability (or not a number)."""
MOST_PASSES = 64
"""Values held for backward passes that no step followed yet: gradients that are accumulated for longer are told without them."""
MOST_GUARDS = 64
"""A script may make a new optimizer for every batch."""
_unseen = torch._C.DisableTorchFunction
_count = getattr(torch._C._autograd, "_get_sequence_nr", None)


class ForensicsWatch(Observer):
    """Looks at the graph of a loss when it is first not finite, and at a few gradients before every update."""

    name = "forensics"
    sees = "where NaN or infinity came from"
    takes = ("forward",)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.ends: dict[int, int] = {}
        """For each operation of the step that is traced: how far autograd had counted after it."""
        self.wirings: dict[int, Wirings] = {}
        self.paths: dict[int, Path] = {}
        self.steep: dict[int, list[Steep]] = {}
        self.uses: dict[int, int] = {}
        """For each parameter (by identity): how early it is used."""
        self.entrances: dict[int, list[frozenset[int]]] = {}
        """For each loss: parameters by which gradients leave it."""
        self.guards: dict[int, Guard] = {}
        self.held: list[Held] = []
        self.passes = 0
        """Backward passes for which values were held."""
        self.batches: BatchWatch | None = None
        self.batch: int | None = None
        self.given: list[torch.Tensor] = []
        """What entered the model last, until the step ends."""
        self.given_at: Any = None
        """Where: of an earlier step, if this one is asleep."""
        self.unused: facts.FirstInvalid | None = None
        self.largest: float | None = None
        session.on_output.append(self.passed)
        session.glance = self.glance

    # -- learning the structure on traced steps --------------------------------------------------------------------

    def passed(self, node: Node, output: torch.Tensor) -> None:
        if node.index >= 0:
            grown = _count() if _count is not None else output.grad_fn._sequence_nr() + 1 if output.grad_fn is not None else None
            if grown is not None:
                self.ends[node.index] = grown

    def forward_begins(self, call: ForwardCall) -> None:
        if call.grad:
            x = next((a for a in (*call.args, *call.kwargs.values()) if isinstance(a, torch.Tensor) and a.dim()), None)
            self.batch = x.shape[0] if x is not None else self.batch
            self.given = details.tensors_in((call.args, call.kwargs))
            self.given_at = call.place_key

    def backward_begins(self, loss: torch.Tensor, site: Site) -> None:
        trace = self.session.trace
        if not self.ends or trace is None or loss.grad_fn is None or trace.maker_or_function(loss) is None:
            return
        started = self.session.clock()
        if self.largest is None:
            self.largest = details.finite_parameters(self.session)[1]
        wirings = self.wirings.setdefault(site.index, Wirings())
        live = Live(loss)
        wiring = wirings.learn(live, trace, self.ends)
        if wiring is not None:
            steep = self.steep[site.index] = steep_in(wiring, live)
            self.paths[site.index] = path_to(wiring, steep)
            self.uses |= first_uses(live)
            self.entrances[site.index] = entrances_of(live)
            self.guards.clear()
            if any(path.stops for path in self.paths.values()):
                self.session.hold = self.hold
            self._hold(loss, site)
        self._complete(live, site)
        self.session.sample_seconds += self.session.clock() - started

    def _complete(self, live: Live, site: Site) -> None:
        """The trace has just told the operation of this step: add which values and samples."""
        fact = site.found.get("invalid", {}).get("first")
        if fact is None or fact.step != self.session.step or not fact.traced or fact.largest is not None:
            return
        largest = details.finite_parameters(self.session)[1]
        fact = site.found["invalid"]["first"] = replace(fact, largest=largest, largest_at_start=self.largest)
        if fact.origin not in ("operation", "data"):
            return
        values = Values(live)
        found = search(live, values)
        wiring, owners = self.wirings[site.index].best(live)
        path = [wiring.operation(owners[i]) if wiring is not None else None for i in found.path]
        if fact.origin == "data":  # of a loss that is written by hand nobody else knows what is the target
            if found.kind == "data" and path[0] is not None:
                details.data_at_fault(self.session, path[0], path, found.source, fact.step)
        elif path[0] is not None and path[0].name == fact.op and details.placed(self.session, path[0]) == fact.place:
            fact = details.with_values(fact, self.session, values, found.node, self.batch)
            if found.source is not None and self._cast(found.source):
                fact = replace(fact, fits_single=True)
            site.found["invalid"]["first"] = replace(fact, chain=details.chain(self.session, path))

    # -- a loss that is not finite ----------------------------------------------------------------------------------

    def loss_known(self, loss: torch.Tensor, site: Site) -> None:
        if self.session.step == 0:
            self._meet(loss)
        if self.session.loss_finite is not False:
            path = self.paths.get(site.index)
            if path is not None and path.stops:
                self._hold(loss, site)
            return
        found = site.found.setdefault("invalid", {})
        if found:
            found["first"] = self._again(found["first"])
        elif not self._traced():
            found["first"] = replace(self._in_graph(loss, site), before_update=True)

    def _meet(self, loss: torch.Tensor) -> None:
        """Of a script without modules and optimizers nothing is known on its first step but what its loss was made from."""
        registry = self.session.registry
        if not registry.parameters and not registry.optimizers:
            live = Live(loss)
            for name, node in zip(live.names, live.nodes, strict=True):
                if name == LEAF:
                    registry.meet_stray(node.variable, self.session.step, user_frame())

    def _again(self, fact: facts.FirstInvalid) -> facts.FirstInvalid:
        step = self.session.step
        return fact if (fact.last or fact.step) == step else replace(fact, times=fact.times + 1, last=step)

    def _traced(self) -> bool:
        return self.session.trace is not None and self.session.tracing and bool(self.session.trace.nodes)

    def _in_graph(self, loss: torch.Tensor, site: Site) -> facts.FirstInvalid:
        broken, largest = details.finite_parameters(self.session)
        fact = facts.FirstInvalid(
            step=self.session.step, parameters_finite=broken is None, largest=largest, largest_at_start=self.largest, name=broken or ""
        )
        if loss.grad_fn is None:
            return replace(fact, origin="parameter" if broken is not None else "unknown", updated_at=self._updated(broken))
        live = Live(loss)
        values = Values(live)
        found = search(live, values)
        if broken is not None and found.kind != "data":
            return replace(fact, origin="parameter", updated_at=self._updated(broken))
        wiring, owners = self.wirings.get(site.index, Wirings()).best(live)
        operations = [wiring.operation(owners[i]) if wiring is not None else None for i in found.path]
        fact = replace(fact, origin=found.kind, name="", op=family(live.names[found.node]).lower() if live.names[found.node] != LEAF else "")
        if found.source is not None and self._cast(found.source):
            fact = replace(details.named(fact, self.session, operations[0]), origin="operation", kind="inf", dtype="float16", fits_single=True)
            ends = [torch.aminmax(t.detach()) for t in self.given]
            fact = replace(fact, lowest=min((e[0].item() for e in ends), default=None), highest=max((e[1].item() for e in ends), default=None))
            return replace(fact, chain=details.chain(self.session, operations))
        if found.kind == "data" and wiring is not None and operations[0] is not None:
            maker = wiring.constant_maker(operations[0])
            if maker is not None:  # made in the script from the data, without a gradient
                fact = replace(fact, origin="operation")
                return replace(details.named(fact, self.session, maker), chain=details.chain(self.session, [maker, *operations]))
            details.data_at_fault(self.session, operations[0], operations, found.source, self.session.step)
        fact = details.named(fact, self.session, operations[0])
        fact = details.with_values(fact, self.session, values, found.node, self.batch)
        return replace(fact, chain=details.chain(self.session, operations))

    def _cast(self, source: torch.Tensor) -> bool:
        """Whether an input is infinite only because it was made float16: what entered the model is finite."""
        door = self.session.door
        given = details.tensors_in(door[1:]) if door is not None else self.given
        return source.dtype == torch.float16 and kind_of(source) != NAN and bool(given) and not any(kind_of(t) for t in given)

    def _updated(self, broken: str | None) -> int | None:
        """Weights that are not finite now were finite in the step before, or its loss or gradients would have told."""
        return self.session.step - 1 if broken is not None and self.session.step else None

    # -- a finite loss with a gradient that is not -----------------------------------------------------------------

    def _hold(self, loss: torch.Tensor, site: Site) -> None:
        if len(self.held) > MOST_PASSES:
            self.held.clear()
        self.passes += 1
        fresh = self.paths[site.index].hold(loss.grad_fn)
        if fresh and self.batches is None:
            self.batches = next((o for o in self.session.observers if isinstance(o, BatchWatch)), None)
        for held in fresh:
            held.drawn, held.passed = self.batches.indices if self.batches is not None else None, self.passes
        self.held += fresh

    def hold(self, loss: torch.Tensor) -> None:
        """In a nap nobody is told of a loss: the values that it may be asked for later are taken all the same."""
        nap = self.session.nap
        if nap is None or nap.usual.site.index not in self.paths:
            return
        started = self.session.clock()
        try:
            with _unseen():
                self._hold(loss, nap.usual.site)
        except Exception as e:
            self.session.retire(self, "hold", e)
        self.session.times.own += self.session.clock() - started

    def glance(self, optimizer: torch.optim.Optimizer | None, given: dict[int, Any] | None) -> bool:
        """Before every update: whether one of a few gradients is not finite. Called directly, so it contains its own mistakes."""
        session = self.session
        started = session.clock()
        try:
            with _unseen():
                guard = self.guards.get(id(optimizer))
                if guard is None or (not guard.chosen and session.sampled):
                    if len(self.guards) > MOST_GUARDS:
                        self.guards.clear()
                    guard = self.guards[id(optimizer)] = self._choose(optimizer)
                broken = session.clip_broken or guard.broken(given)
                if session.measure_norm and optimizer is not None and session.nap is None:
                    broken |= not math.isfinite(self._norm(optimizer))
                if self.held and not broken:
                    self.held.clear()
            return broken
        except Exception as e:
            session.retire(self, "glance", e)
            return False
        finally:
            session.times.own += session.clock() - started

    def _parameters(self, optimizer: torch.optim.Optimizer | None) -> list[torch.Tensor]:
        if optimizer is None:
            registry = self.session.registry
            return [t for t, _ in registry.entries()] or [t for t, _ in registry.newcomers(None)]
        return [p for group in optimizer.param_groups for p in group["params"]]

    def _norm(self, optimizer: torch.optim.Optimizer) -> float:
        index = self.session.registry.optimizer(optimizer).index
        return self.session.pulse.get(f"grad_norm@{index}" if index else "grad_norm", 0.0)

    def _choose(self, optimizer: torch.optim.Optimizer | None) -> Guard:
        steep = [s for known in self.steep.values() for s in known]
        entrances = [e for known in self.entrances.values() for e in known]
        return choose(self.uses, steep, entrances, self._parameters(optimizer))

    def gradients_broken(self, optimizer: torch.optim.Optimizer | None, given: dict[int, Any] | None) -> None:
        """A gradient is not finite although the loss was: which operation did it?"""
        site = self.session.site
        broken = broken_gradients(self._parameters(optimizer), given) if self.session.loss_finite is not False else []
        if broken:
            if site is not None:
                self._note(broken, site)
            self.session.incident("gradient")
        self.held.clear()

    def stepped(self, optimizer: torch.optim.Optimizer) -> None:
        """Finite gradients whose update is not: an epsilon that is zero in half precision, a rate that is infinite. Its operation is the optimizer's own."""
        session = self.session
        guard = self.guards.get(id(optimizer)) if self.awake and session.loss_finite is True else None
        if guard is not None and session.on_incident is not None and guard.weights_broken():
            session.incident("weight")

    def backward_ends(self, _: Any) -> None:
        """Gradients that the script mends or leaves out before the update: where did they come from?"""
        skips = next((o for o in self.session.observers if isinstance(o, SkipWatch)), None)
        waiting = [key for key, m in skips.found.items() if m.way in ("gradient", "dropped") and not m.origin_op] if skips is not None else []
        site = self.session.site
        if not waiting or not self.held or skips is None or site is None or self.session.loss_finite is not True:
            return
        broken = {id(t) for t, _ in self.session.registry.entries() if t.grad is not None and broken_gradients([t])}
        fact = self._steep_one(facts.FirstInvalid(step=self.session.step), broken, site) if broken else None
        if fact is not None and fact.op:
            for key in waiting:
                skips.found[key] = replace(skips.found[key], origin="operation", origin_op=fact.op, origin_at=self.session.keep_source(fact.place))

    def _note(self, broken: list[torch.Tensor], site: Site) -> None:
        found = site.found.setdefault("invalid", {})
        if found:
            found["first"] = self._again(found["first"])
            return
        names = tuple(e.name for p in broken[:8] if (e := self.session.registry.entry(p)) is not None)
        weight, largest = details.finite_parameters(self.session)
        fact = facts.FirstInvalid(
            step=self.session.step,
            backward=True,
            before_update=True,
            parameters=names,
            parameters_finite=weight is None,
            name=weight or "",
            origin="unknown" if weight is None else "parameter",
            largest=largest,
            largest_at_start=self.largest,
        )
        if weight is None:
            fact = self._from_data(fact) or self._steep_one(fact, {id(p) for p in broken}, site)
        found["first"] = fact

    def _from_data(self, fact: facts.FirstInvalid) -> facts.FirstInvalid | None:
        """An input that is not finite, which the loss did not show (behind a tanh it is 1): the gradient of the first weight does."""
        door = self.session.door
        given = details.tensors_in(door[1:]) if door is not None else self.given
        wrong = next((t for t in given if not t.requires_grad and kind_of(t)), None)
        if wrong is None:
            return None
        details.batch_at_fault(self.session, wrong, self.given_at)
        return replace(fact, origin="data", kind=kind_of(wrong))

    def _steep_one(self, fact: facts.FirstInvalid, broken: set[int], site: Site) -> facts.FirstInvalid:
        """The operation at whose value the slope is infinite: the nearest to the loss of those whose gradient goes to what is broken."""
        wrong = [(h, mask) for h in self.held if bool((mask := h.wrong()).any())]
        leads = [(h, mask) for h, mask in wrong if broken <= h.steep.behind] or wrong
        if not leads:
            candidates = [s for s in self.steep.get(site.index, []) if broken == s.behind and s.name not in NOT_HELD]
            return details.named(replace(fact, origin="operation"), self.session, candidates[0].operation) if len(candidates) == 1 else fact
        held, mask = leads[0]
        fact = details.named(replace(fact, origin="operation", op=family(held.steep.name).lower()), self.session, held.steep.operation)
        value = held.argument()
        good = value[torch.isfinite(value)]
        if good.numel() and not (family(held.steep.name) == "Exp" and len(good) < value.numel()):  # how large they were cannot be told from infinity
            low, high = torch.aminmax(good)
            fact = replace(fact, lowest=low.item(), highest=high.item())
        fact = replace(fact, dtype=str(held.value.dtype).removeprefix("torch."), passes_ago=self.passes - held.passed)
        return details.with_elements(fact, self.session, mask, self.batch, self._drawn_for(held))

    def _drawn_for(self, held: Held) -> Sequence[int] | None:
        """Gradients of several batches make one update: the samples are those of the batch in which it came up, not of the newest one."""
        return details.as_indices(held.drawn) if held.passed != self.passes and not self.session.loads_ahead else None

    def step_closed(self, _: Any) -> None:
        self.ends = {}
        self.given = []
        self.held.clear()

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

    def _stopped_at(self) -> None:
        if self.unused is None and self.session.backwards and not any(site.found.get("invalid") for site in self.session.sites.values()):
            loss = leftover_loss()
            if loss is not None:
                site = next(iter(self.session.sites.values()))
                self.unused = self._in_trace(loss) or self._in_graph(loss, site)

    def report(self) -> None:
        known = any(site.found.get("invalid") for site in self.session.sites.values())
        if self.unused is not None and not known:
            for place in facts.places_in(self.unused):
                self.session.keep_source(place)
            self.session.writer.fact("unused_loss", self.unused)

    # -- a loss function that refused its input ------------------------------------------------------------------

    def finish(self) -> None:
        self._stopped_at()
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
