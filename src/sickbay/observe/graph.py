"""Reads how the loss came about: which operations feed it, which parameters it reaches, where a gradient was lost."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from sickbay import facts
from sickbay.observe.observer import ForwardCall, LossCall, Observer, Site
from sickbay.observe.places import USER, expression, here, kind_of, user_frame
from sickbay.observe.readers import readers
from sickbay.observe.reading import Reading
from sickbay.observe.syntax import receiver
from sickbay.observe.trace import Node, Trace

if TYPE_CHECKING:
    from sickbay.observe.session import Session

EARLY_READS, ENOUGH_READS, MOST_READS = 3, 6, 40
ANEW, MOST_STAGES = 3, 4
"""Steps that are read after an optimizer was built while a run goes on, and how many such optimizers are taken for a new stage of it (a student after its teacher,
the next fold): meta-learning builds one for each task."""
REPEATS = 16
"""Forward passes without gradients from one place that are followed in one step. A rollout of 128 of them before each update made watching dearer than training."""
FREE_SECONDS, BEARABLE = 1.0, 0.1
"""Following operations may take a second in all, and from then on this part of the time trained. With ten thousand small operations in a step (pairs of
samples in a Python loop) each look takes many times as long as the step: the first ones tell the structure, all of them doubled the run."""
HELD_BYTES = 2**20
"""A loss of which more than one backward pass is made in a step is read each time; predictions larger than that are read once. Else what
the script itself has let go of (the logits of a language model) would take memory all through backward, when it is scarcest."""


class GraphWatch(Observer):
    """Owns the trace: switches it on for sampled steps, reads it when backward begins."""

    name = "graph"
    sees = "the structure of the loss (operations, reachability and their lines)"
    takes = ("forward",)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.trace = session.trace = Trace(session, self._output)
        self.calls: list[LossCall] = []
        self.outside_python = False
        self.repeats: dict[Any, int] = {}
        """Forward passes without gradients since the step began, by the place that calls them."""
        self.resting = False
        self.stages = 0
        self.anew_until = 0
        """Before this step structure is read again although it is known: training has begun anew."""

    # -- when to follow -----------------------------------------------------------------------------------------

    def forward_begins(self, call: ForwardCall) -> None:
        if not self.outside_python and (call.module._compiled_call_impl is not None or type(call.module).__name__ == "OptimizedModule"):
            self.compiled(call.module)  # it was compiled before we came
        if self.session.backwards == 0 and call.grad:
            if not self.trace.entered:
                self._begin()
        elif self.trace.entered and not self.session.tracing:
            self.trace.end()  # backward() itself runs inside the mode, where it can't be left
        self._rest_or_go_on(call)

    def _rest_or_go_on(self, call: ForwardCall) -> None:
        """Rollouts and validation make the same forward pass without gradients over and over: the first ones tell all, the others cost as much."""
        count = 0 if call.grad else self.repeats.get(call.place_key, 0) + 1
        self.repeats[call.place_key] = count
        if count > REPEATS and self.session.tracing:
            self.resting = True
            self.trace.end()
        elif count <= REPEATS and self.resting:
            self.resting = False
            self.trace.begin()

    def step_closed(self, _: int) -> None:
        self.resting = False
        self.repeats.clear()
        self.calls.clear()
        self.trace.clear()  # it holds the step's tensors

    def optimizer_built(self, *_: Any) -> None:
        """In the middle of a run: the same loop may train another model now, by another loss."""
        if self.session.step and self.stages < MOST_STAGES:
            self.stages += 1
            self.session.look_closely()
            self.anew_until = self.session.step + ANEW

    def step_planned(self) -> None:
        self.resting = False
        self.repeats.clear()  # steps that were slept through are not closed one by one
        if self.session.at_forward:
            self._begin()

    def _begin(self) -> None:
        if self.outside_python or self.session.no_trace or self.trace.truncated or self._too_dear():
            return
        step = self.session.step
        known = bool(self.session.sites) and all(site.reads >= ENOUGH_READS for site in self.session.sites.values())
        # Landmark steps are read again: the structure may have changed meanwhile.
        due = not step & (step - 1) or step < self.anew_until
        self.trace.outputs_only = known and not due and self.session.loss_finite is not False
        if not self.trace.begin():
            self.session.limit(self.sees, "the script holds a torch function mode open while it trains; operations were not followed")

    def _too_dear(self) -> bool:
        session = self.session
        if session.structure_seconds <= max(FREE_SECONDS, BEARABLE * session.training_seconds) or session.loss_finite is False:
            return False
        return all(site.reads >= EARLY_READS or site.backwards > ENOUGH_READS for site in session.sites.values())

    def compiled(self, _: Any) -> None:
        self.outside_python = True
        self.trace.end()
        self.session.limit("layers and operations inside torch.compile", "compiled code runs outside Python; only whole models are seen")

    def backward_ends(self, _: Any) -> None:
        # A second loss of the same step may be computed now; keep what is known of the first.
        if (
            self.session.at_forward
            and self.trace.nodes
            and not self.trace.outputs_only
            and not self.trace.truncated
            and self.session.since_step < EARLY_READS
        ):
            self._begin()

    def step_begins(self, optimizer: Any, key: Any, closure: bool) -> None:
        # With a closure, forward and backward are still to come; what an optimizer of the user's own does is followed, too.
        if not closure and not _is_users_own(optimizer):
            self.trace.end()

    def step_ends(self, _: Any) -> None:
        self.trace.end()

    def finish(self) -> None:
        self.trace.end()

    # -- what was seen ------------------------------------------------------------------------------------------

    def _output(self, node: Node, output: torch.Tensor) -> None:
        for listener in self.session.on_output:
            listener(node, output)

    def loss_called(self, call: LossCall | None) -> None:
        if call is not None and call.grad and self.session.tracing:
            call.place = here()
            if (frame := user_frame()) is not None:
                call.call = expression(frame)
            self.calls.append(call)

    def backward_begins(self, loss: torch.Tensor, site: Site) -> None:
        if site.backwards == 1 and (frame := user_frame()) is not None:
            site.variable = receiver(expression(frame))
        if loss.grad_fn is None and loss.requires_grad:
            site.leaf = True
        if self.session.tracing or self.trace.entered:
            self.trace.end()
            if site.reads < MOST_READS and self.trace.nodes:
                started = self.session.clock()
                reading = Reading(self.session, self.trace, self.calls, site, loss)
                for read in readers():
                    read(reading)
                site.reads += 1
                self.session.until_backward += [c for c in self.calls if c.input.nbytes > HELD_BYTES]
                self.calls = [c for c in self.calls if c.input.nbytes <= HELD_BYTES]
                took = self.session.clock() - started
                self.session.sample_seconds += took
                self.session.structure_seconds += took

    def report(self) -> None:
        registry = self.session.registry
        unreached = {e.name for e in registry.parameters.values() if not (e.reached and e.nonzero)}
        self.session.writer.fact("losses", [self._fact(site, unreached) for site in self.session.sites.values()])

    def _fact(self, site: Site, unreached: set[str]) -> facts.Loss:
        found = {what: tuple(findings.values()) for what, findings in site.found.items()}
        cuts = [replace(c, parameters=tuple(p for p in c.parameters if p in unreached)) for c in found.pop("cuts", ())]
        fact = facts.Loss(
            index=site.index,
            backward_at=site.place,
            variable=site.variable,
            backwards=site.backwards,
            optimizers=tuple(sorted(site.optimizers)),
            operations=site.operations,
            cuts=tuple(c for c in cuts if c.parameters),
            leaf=site.leaf,
            graph_reads=site.reads,
            activations=site.activations,
            **found,
        )
        for place in facts.places_in(fact):
            self.session.keep_source(place)
        return fact


def _is_users_own(optimizer: Any) -> bool:
    """Its class stands in a file of the script's, and not in a library."""
    step = getattr(type(optimizer), "step", None)
    code = getattr(inspect.unwrap(step), "__code__", None) if callable(step) else None
    return code is not None and kind_of(code) == USER
