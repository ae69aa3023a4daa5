"""The black box: holds on to the batch and the inputs of the step under way, and writes them down once something is not finite.

On an ordinary step it only remembers references, and lets go of them when the step has ended: nothing is copied, and nothing of the user's
lives longer than it would (a batch is let go when its step ends; on the first steps, and where several optimizers share one, when the next one comes).
What is written, and where, says `record/incident.py`. Whoever finds that something is not finite calls `Session.incident`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from sickbay import facts
from sickbay.observe.batches import BatchWatch
from sickbay.observe.forensics.live import Live
from sickbay.observe.incident import MOST_OPERATIONS, MOST_SAMPLES, Seen, keep
from sickbay.observe.loaded import LOOKS, LoadedBatches
from sickbay.observe.observer import ForwardCall, LossCall, Observer, Site
from sickbay.record.incident import WHAT, description_beside, write_description

if TYPE_CHECKING:
    from sickbay.observe.session import Session

MOST_CALLS = 4
"""Calls of outermost modules that are held: generator and discriminator, encoder and decoder. A loop over a cell makes hundreds."""

Found = TypeVar("Found", facts.FirstInvalid, facts.NonfiniteBatch)
_random = torch.default_generator


class BlackboxWatch(Observer):
    """Keeps the first incident of the process."""

    name = "blackbox"
    sees = WHAT

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.loaded = LoadedBatches()
        self.batches: BatchWatch | None = None
        self.calls: list[tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any]]] = []
        self.let_go = 0
        self.passed = -1
        """How many backward passes there had been when these calls were made."""
        self.training = True
        """Whether these calls are of models in training mode."""
        self.rng: torch.Tensor | None = None
        self.loss: torch.Tensor | None = None
        self.graph: tuple[str, ...] = ()
        self.forensics: Observer | None = None
        """Who knows of losses that are not finite and get no backward pass."""
        self.pending = False
        self.kept: facts.Incident | None = None
        self.over = not session.settings.blackbox
        """Nothing more will be kept in this run: it was switched off, or there was an incident."""
        if not self.over:
            session.on_incident = self.happened

    # -- holding --------------------------------------------------------------------------------------------------

    def batch_loaded(self, iterator: Any, batch: Any, seconds: float) -> None:
        if self.over:
            return
        if self.batches is None:
            self.batches = next((o for o in self.session.observers if isinstance(o, BatchWatch)), None)
        self.loaded.load(batch, self.batches.newest if self.batches is not None else None, self.session.backwards)

    def forward_begins(self, call: ForwardCall) -> None:
        if not call.grad or self.over:
            return
        training = call.module.training
        if self.passed != self.session.backwards or (training and not self.training):  # what an evaluation was given is of no interest any more
            self.passed, self.training = self.session.backwards, training
            self.calls, self.let_go = [], 0
            self.rng = _random.get_state()
            if self.loaded.steps < LOOKS and self.loaded.newest is not None:
                self.loaded.look((call.args, call.kwargs))
                self.session.loads_ahead = self.loaded.ahead
        self.calls.append((call.module, call.args, call.kwargs))
        if len(self.calls) > (MOST_CALLS if training else 1):
            del self.calls[0]
            self.let_go += 1

    def stepped(self, _: Any) -> None:
        self.calls, self.let_go, self.passed = [], 0, -1
        self.rng = self.loss = self.session.door = None
        self.loaded.stepped(self.session.backwards, shared=len(self.session.registry.optimizers) > 1)

    # -- noticing -------------------------------------------------------------------------------------------------

    def loss_known(self, loss: torch.Tensor, site: Site) -> None:
        if self.over or self.session.loss_finite is not False:
            return
        self.loss = loss.detach()
        self.graph = tuple(Live(loss).names[:MOST_OPERATIONS])
        self.pending = True
        if self.session.asleep:  # nobody will look any closer
            self.happened("loss")

    def backward_begins(self, loss: torch.Tensor, site: Site) -> None:
        """By now the others have found where it comes from."""
        if self.pending:
            self.happened("loss")
        self._add_origin()

    def loss_called(self, call: LossCall | None) -> None:
        """A loss that is not finite and that the script may now leave out, or stop at."""
        if self.over or call is None:
            return
        if self.forensics is None:
            self.forensics = next((o for o in self.session.observers if o.name == "forensics"), self)
        if getattr(self.forensics, "unused", None) is not None:
            self.loss = call.output.detach()
            self.happened("loss")

    def step_closed(self, _: int) -> None:
        self._add_origin()

    def _first(self) -> facts.FirstInvalid | None:
        """What is known of the first invalid operation."""
        found = [f for site in self.session.sites.values() for f in site.found.get("invalid", {}).values()]
        return next(iter(found), getattr(self.forensics, "unused", None))

    # -- keeping --------------------------------------------------------------------------------------------------

    def happened(self, kind: str) -> None:
        """Something of this step is not finite. Never raises: what fails here costs the incident, not the run."""
        self.pending = False
        if self.over:
            return
        self.over = True
        started = self.session.clock()
        try:
            self.kept = keep(self.session, kind, self._seen(), self.session.settings.blackbox)
            self._tell()
        except Exception as e:
            reason = e.__context__ if isinstance(e.__context__, OSError) else e  # torch hides why the disk refused
            self.session.limit(self.sees, f"it could not be kept: {type(reason).__name__}: {reason}")
        finally:
            self.loss = self.rng = None
            self.calls = []
            self.loaded.clear()
            self.session.set_aside(self.session.clock() - started)

    def _seen(self) -> Seen:
        calls, door = self.calls, self.session.door
        if not calls and door is not None:
            calls = [door]
        site, watch = self.session.site, self.batches
        batch, indices, known = self.loaded.of([(args, kwargs) for _, args, kwargs in calls])
        samples = tuple(i for i in indices[:MOST_SAMPLES] if type(i) is int) if isinstance(indices, (list, tuple)) else ()
        first, crash = self._first(), self.session.crash
        return Seen(
            batch=batch,
            fed=known,
            loaders=watch is not None and bool(watch.loaders),
            calls=calls,
            let_go=self.let_go,
            rng=self.rng,
            samples=samples,
            data=tuple(_of(samples, bad) for bad in watch.bad.values()) if watch is not None else (),
            first=_of(samples, first) if first is not None else None,
            loss=self._value(),
            message=crash.message if crash is not None else "",
            graph=self.graph,
            operations=site.operations if site is not None else (),
        )

    def _value(self) -> str:
        """The loss of this step, as text."""
        if self.loss is not None:
            return f"{self.loss.item():g}" if self.loss.numel() == 1 else ""
        noted = self.session.pulse.get(self.session.site.series("loss/train")) if self.session.site is not None else None
        return f"{noted:g}" if noted is not None else ""

    def _tell(self) -> None:
        if self.kept is not None:
            self.session.writer.fact("incident", self.kept)
            self.session.recording.report_soon()

    def _add_origin(self) -> None:
        """Where it came from may be found only after the incident was written."""
        if self.kept is None or self.kept.first is not None or (first := self._first()) is None:
            return
        self.kept = replace(self.kept, first=_of(self.kept.samples, first))
        try:
            write_description(description_beside(self.session.recording.path), self.kept)
        except OSError:
            return  # the older description is still there
        self._tell()

    def finish(self) -> None:
        self._add_origin()
        if not self.over and self.session.crash is not None and (self.calls or self.session.door is not None):
            self.happened("crash")


def _of(samples: tuple[int, ...], found: Found) -> Found:
    """With the data set indices of this batch: whoever found the rows may have taken the loader's newest batch for it."""
    if not samples or not found.rows:
        return found
    if isinstance(found, facts.FirstInvalid) and found.passes_ago:  # of an earlier batch of the step: its own samples are noted
        return found
    return replace(found, samples=tuple(samples[r] for r in found.rows if r < len(samples)))
