"""One Session per process: it owns the hooks, the observers, the step counter and the record.

`starting.py` puts every hook in place; `Session.close` takes every one of them out again and ends the record. In between,
`fire` is the only way from a hook to the observers: it counts our own time, keeps
our work out of autograd and out of our own sight, and contains whatever goes wrong.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from sickbay import facts
from sickbay.nouns import Place
from sickbay.observe.governor import PARTS, Governor
from sickbay.observe.nap import Nap, fall_asleep
from sickbay.observe.numbers import is_broken
from sickbay.observe.observer import MOMENTS, ForwardCall, Observer, Site, StepTimes
from sickbay.observe.patches import Patches
from sickbay.observe.places import place_of
from sickbay.observe.recording import Recording
from sickbay.observe.registry import Registry
from sickbay.record.writer import RecordWriter
from sickbay.settings import Settings

if TYPE_CHECKING:
    from types import CodeType

    from sickbay.observe.comparing import Comparing
    from sickbay.observe.trace import Node, Trace

NEW_PHASES = 5000
MANUAL_AFTER = 16
"""Backward passes without any optimizer step after which each backward counts as a step of its own."""
SETTLE_STEPS, SETTLE_SECONDS, SETTLE_BYTES = 8, 1.0, 4 * 2**20
"""Looks, time and room that their numbers may take before they are worked out and written: at most so much of the
per-layer statistics is lost when the process is killed. Losses are written every quarter second."""
FIRE_SECONDS = 4e-6
"""What a moment costs outside our clock (the wrapper that tells of it, the call): measured on a tiny network, with and without us."""
THROUGH_NAPS = frozenset({"batch_loaded", "scheduled", "clipped", "printed", "collective"})
"""Moments of an ordinary step at which observers may be told without ending a nap."""
BROKEN_LOOKS = 16
"""Steps after a loss that was not finite that are looked at whole: the first ones tell where it came from, the rest of a lost run are only counted."""
YOUNG = 64
"""In the first steps nothing waits longer than the record's own buffers."""

_unseen = torch._C.DisableTorchFunction
Listeners = dict[str, list[tuple[Observer, Callable[..., None]]]]
"""By moment, in the order in which they are told."""


class Session:
    """Observes this process. Begun by `starting.install`, or by `sickbay.watch` in a notebook."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self.recording = Recording(path, settings)
        self.settings = settings
        self.pid = os.getpid()
        self.thread: int | None = None
        self.off = False
        self.busy = False
        self.step = 0
        self.looking: tuple[str, ...] = PARTS
        """What is looked at closely on this step: all parts, one of them (see `Governor.parts_due`), or nothing."""
        self.measure_norm = True
        self.thorough = True
        """What changes slowly or is dear (histograms, what batches usually hold) is taken too: on every fourth sampled step."""
        self.asleep = False
        """This step is only counted (see `Governor.may_sleep`), but for what a part of a close look needs,"""
        self.deaf = False
        """...and not even that."""
        self.nap: Nap | None = None
        """...and even that is done in passing."""
        self.may_nap = True
        self.backward_from: tuple[CodeType, int] | None = None
        """Where the newest backward pass was called, as the frame there says (see nap.py)."""
        self.train_mode = True
        """The newest call of .train() or .eval()."""
        self.tracing = False
        """Operations of this step are being traced (see trace.py)."""
        self.loading = False
        """A loader makes a batch in this process: modules that are called now (torchvision's transforms are some) are no model."""
        self.no_trace = ""
        """Why operations can't be traced in this run; empty if they can."""
        self.on_output: list[Callable[[Node, torch.Tensor], None]] = []
        """Called with every traced operation and its result."""
        self.wanted_outputs: frozenset[str] = frozenset()
        """Operations whose results somebody wants even when the structure is known."""
        self.drawn: dict[int, deque[Any]] = {}
        self.backwards = 0
        self.forwards = 0
        self.since_step = 0
        self.optimizer_steps = 0
        self.stepped_last: weakref.ref[torch.optim.Optimizer] | None = None
        self.autograd_grad_calls = 0
        self.by_grad = 0
        """Backward passes that were calls of torch.autograd.grad."""
        self.closure_of: torch.optim.Optimizer | None = None
        self.evaluations = 0
        """Backward passes of the closure that an optimizer evaluates right now."""
        """The optimizer whose closure is running: each backward pass in there comes before an update."""
        self.pulse: dict[str, float] = {}
        self.times = StepTimes()
        self.sample_seconds = 0.0
        self.structure_seconds = 0.0
        """Of the whole run: following operations, reading them, probing the model."""
        self.norm_seconds = 0.0
        self.own_seconds = 0.0
        self.training_seconds = 0.0
        self.epoch = -1
        self.loader: int | None = None
        """Index of the loader that the newest batch came from."""
        self.train_loader: int | None = None
        self.loads_ahead = False
        """The newest batch is the next step's (see loaded.py)."""
        self.trace: Trace | None = None
        self.comparing: Comparing | None = None
        """The mode in which an evaluation is followed, while it is open."""
        self.sites: dict[Any, Site] = {}
        self.site: Site | None = None
        self.loss_finite: bool | None = True
        """Whether the newest loss is finite; None while its value is on its way from a device."""
        self.door: tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any]] | None = None
        """The first call of a module on a step that is asleep; let go when the step ends."""
        self.until_backward: list[Any] = []
        """What holds large tensors that the script itself has let go of. They go at the last moment, when nothing of ours comes between: what backward
        takes next finds their room whole."""
        self.on_incident: Callable[[str], None] | None = None
        self.closely = range(0)
        """Steps that are measured in full whatever it costs: a replay sets them."""
        self.hold: Callable[[torch.Tensor], None] | None = None
        """Called with the loss before each backward of a nap, if a steep operation lies behind it (see forensics/slopes.py)."""
        self.glance: Callable[[Any, dict[int, Any] | None], bool] | None = None
        """Whether a gradient is not finite: called before every update, also in naps (see forensics/gradients.py)."""
        self.clip_broken = False
        """The newest norm that the script clipped by was not finite: that of all its gradients, for nothing."""
        self.treatment = ""
        """What a trial changes in this run, in words; empty in every other run."""
        self.shortened = False
        """A trial ended the script before its own end."""
        self.talking = False
        """A collective is under way: those that it is made of are its own."""
        self.limits: dict[str, str] = {}
        self.exit: int | str | None = None
        self.crash: facts.Crash | None = None
        self.governor = Governor(settings.budget, settings.detail_steps)
        self.registry = Registry()
        self.patches = Patches()
        self.observers: list[Observer] = []
        self._listeners: Listeners = {}
        self._attentive: Listeners = {}
        """Those who hear what is kept from the others on this step: all, or on one that is slept through those who take the part of a look that is due."""
        self._by_part: dict[str, Listeners] = {}
        self.clock = time.perf_counter
        self.step_started: float | None = None
        self._closing_took = 0.0
        self.waiting_bytes = 0
        """Taken by sampled numbers that wait for their arithmetic."""
        self._asked_about: dict[int, weakref.ref[torch.Tensor]] = {}
        """The tensors of the newest torch.autograd.grad call."""
        self._unsettled = 0
        """Looks whose arithmetic waits,"""
        self._waiting_since: float | None = None
        """...and since when the first of them does."""
        self._closing: list[Callable[[], None]] = []
        self._broken_looks = 0
        """Steps that were looked at whole because the loss before was not finite."""

    @property
    def sampled(self) -> bool:
        """This step is looked at closely, at least in part."""
        return bool(self.looking)

    @property
    def at_calls(self) -> bool:
        """...at the order of its calls,"""
        return "calls" in self.looking

    @property
    def at_inputs(self) -> bool:
        """...at the rows of its batches,"""
        return "inputs" in self.looking

    @property
    def at_forward(self) -> bool:
        """...at its activations, its predictions and its structure,"""
        return "forward" in self.looking

    @property
    def at_update(self) -> bool:
        """...at its gradients and weights."""
        return "update" in self.looking

    # -- the record ---------------------------------------------------------------------------------------------

    @property
    def writer(self) -> RecordWriter:
        return self.recording.writer

    def keep_source(self, place: Place | None) -> Place | None:
        """Keep the text of the file a place points into; returns the place, for use in passing."""
        self.recording.keep_source(place)
        return place

    def later(self, name: str, value: torch.Tensor) -> None:
        """Record a number of this step that is still on its way from a device."""
        self.recording.later(self.step, name, value)

    def limit(self, what: str, why: str) -> None:
        """Something is not seen in this run: say so in the report."""
        self.limits.setdefault(what, why)

    def incident(self, kind: str) -> None:
        """Something of this step ("loss", "gradient", "weight") is not finite: keep what led to it, the first time (see blackbox.py).
        For observers, who say so when they have noted what they know of it."""
        if self.on_incident is not None:
            self.on_incident(kind)

    def before_update(self, optimizer: torch.optim.Optimizer) -> None:
        """The gradients are there, and the weights are still the old ones."""
        if self.asleep and self.measure_norm and self.nap is None and not self.at_update:
            self.fire("norm_due", optimizer)
        self.look_at_gradients(optimizer)

    def closure_evaluated(self) -> None:
        """A backward pass inside `optimizer.step(closure)`: LBFGS and SAM make several, each of them of other weights."""
        self.evaluations += 1
        if self.closure_of is not None:
            self.before_update(self.closure_of)

    def look_at_gradients(self, optimizer: torch.optim.Optimizer | None, given: dict[int, Any] | None = None) -> None:
        """Before every update, asleep or not: without the ceremony of `fire`, which comes only when something is wrong."""
        if self.glance is not None and self.glance(optimizer, given):
            self.fire("gradients_broken", optimizer, given)

    def set_aside(self, seconds: float) -> None:
        """Time of ours that belongs to no step: it is counted, but must not set the pace of what follows."""
        self.times.own -= seconds
        self.own_seconds += seconds
        if self.step_started is not None:
            self.step_started += seconds

    # -- observers ----------------------------------------------------------------------------------------------

    def add(self, observer: Observer) -> None:
        self.observers.append(observer)
        tables = [self._listeners, *(self._by_part.setdefault(part, {}) for part in observer.takes)]
        for moment in MOMENTS:
            if (method := getattr(observer, moment, None)) is not None:
                for table in tables:
                    table.setdefault(moment, []).append((observer, method))
        self._choose_listeners()

    def _choose_listeners(self) -> None:
        self._attentive = self._by_part.get(self.looking[0], {}) if self.asleep and self.looking else self._listeners

    def tell(self, moment: str, *args: Any) -> None:
        """Of what happens on every training step: whoever listens on this one. Not to be asked when all are deaf."""
        if listeners := self._attentive.get(moment):
            self._tell(moment, listeners, args)

    def fire(self, moment: str, *args: Any) -> None:
        """Tell every observer that this moment has come."""
        if listeners := self._listeners.get(moment):
            self._tell(moment, listeners, args)

    def _tell(self, moment: str, listeners: list[tuple[Observer, Callable[..., None]]], args: tuple[Any, ...]) -> None:
        if self.busy or self.off:
            return
        if self.nap is not None and moment not in THROUGH_NAPS:
            self.nap.end()
        started = self.clock()
        self.busy = True
        try:
            with _unseen():  # by a function mode that the user holds open
                for observer, method in listeners:
                    try:
                        method(*args)
                    except Exception as e:
                        self.retire(observer, moment, e)
                        if self.off:  # it could not even be told: the record is gone
                            break  # type: ignore[unreachable]
        finally:
            self.busy = False
            self.times.own += self.clock() - started + FIRE_SECONDS

    def retire(self, observer: Observer, moment: str, error: BaseException) -> None:
        """An observer failed: training goes on without it, and the report says what was no longer seen."""
        # New lists: the old one may be just being gone through, and none after the failed one must be left out.
        self._listeners = _without(observer, self._listeners)
        self._by_part = {part: _without(observer, table) for part, table in self._by_part.items()}
        self._choose_listeners()
        self.on_output[:] = [f for f in self.on_output if getattr(f, "__self__", None) is not observer]
        if getattr(self.glance, "__self__", None) is observer:
            self.glance = self.hold = None
        if observer in self.observers:
            self.observers.remove(observer)
            if self.trace is not None and observer.name == "graph":
                self.trace.end()  # nobody else would
            if observer.name == "judged":
                self.stop_comparing()
            what = f"{type(error).__name__}: {error}"
            self.limit(observer.sees, f"sickbay's own observer {observer.name!r} failed at step {self.step}: {what}{_line_of(error)}")
            try:
                self.writer.event(self.step, "observer-failed", {"observer": observer.name, "moment": moment, "error": what})
            except Exception as e:
                self.abandon(e)

    def trace_failed(self, error: BaseException) -> None:
        """Following operations failed: go on without it."""
        self.tracing = False
        self.no_trace = f"following operations failed: {type(error).__name__}: {error}"
        self.limit("the structure of the loss (operations and their lines)", self.no_trace)

    def mine(self) -> bool:
        """This thread is the one that trains (a loader's or a replica's thread is not watched)."""
        return self.thread is None or self.thread == threading.get_ident()

    @contextmanager
    def without_trace(self) -> Iterator[None]:
        """For what torch does differently while any function mode is open: ours is left for a moment."""
        trace, tracing = self.trace, self.tracing
        if trace is None or not trace.entered:
            yield
            return
        trace.end()
        try:
            yield
        finally:
            trace.begin()
            self.tracing = tracing

    def stop_comparing(self) -> None:
        """An evaluation is over: a mode that is open costs every operation of training something."""
        if self.comparing is not None:
            self.comparing.leave()
            if not self.comparing.entered:
                self.comparing = None

    def forward_begins(self, call: ForwardCall, tell: Callable[..., None]) -> None:
        if call.grad and self.since_step and self.steps_by_backward:
            self.close_step()  # of the step before: weights are updated by hand, and this is the next one's forward pass
        if self.trace is not None and self.trace.entered and not self.tracing:
            self.trace.end()  # it could not be left where it fell silent
        self.forwards += 1
        tell("forward_begins", call)

    def indices_drawn(self, iterator: Any, index: Any) -> None:
        """A loader drew these data set indices; its batches come out in the same order, maybe later."""
        self.drawn.setdefault(id(iterator), deque(maxlen=256)).append(index)

    # -- the step -----------------------------------------------------------------------------------------------

    def backward_begins(self, loss: torch.Tensor, key: Any) -> None:
        if self.thread is None:
            self.thread = threading.get_ident()
        if self.step_started is None:
            self.step_started = self.clock()
        if self.since_step >= 1 and self.steps_by_backward:
            self.close_step()
        self.backwards += 1
        self.since_step += 1
        self.site = self.site_of(key)
        self.site.backwards += 1
        self.fire("loss_known", loss, self.site)
        if not self.deaf:
            self.tell("backward_begins", loss, self.site)

    def backward_ended(self) -> None:
        """Without modules and optimizers nothing tells where the next step begins: the step ends with its backward."""
        if not self.forwards and not self.registry.optimizers:
            self.close_step()

    def trains_by_grad(self, outputs: Any, inputs: Any, create_graph: Any) -> bool:
        """Whether torch.autograd.grad stands in for backward: it is asked about all that a model trains, or again and again about the same leaf
        tensors (an input whose gradient is wanted is a new tensor each time). Beside an optimizer only if that has stepped without any backward."""
        tensors = inputs if isinstance(inputs, (list, tuple)) else (inputs,)
        if create_graph or not isinstance(outputs, torch.Tensor) or outputs.numel() != 1 or not self.mine():
            return False
        if self.registry.optimizers and (not self.optimizer_steps or self.backwards > self.by_grad) and not is_broken(outputs):
            return False
        if not tensors or not all(isinstance(t, torch.Tensor) and t.is_leaf and t.requires_grad for t in tensors):
            return False
        before = self._asked_about
        self._asked_about = {id(t): weakref.ref(t) for t in tensors}
        return all((ref := before.get(id(t))) is not None and ref() is t for t in tensors) or self.registry.all_trained(tensors)

    def site_of(self, key: Any) -> Site:
        """The training loss that is differentiated at this place of the user's source."""
        site = self.sites.get(key)
        if site is None:
            site = self.sites[key] = Site(len(self.sites), place_of(*key) if key else None)
            self.look_closely()
        return site

    def look_closely(self) -> None:
        """Something new began (a loss, an optimizer, a model): measure the next steps in full, as at the start."""
        self.recording.phase_began(self.step)
        self.governor.frame.detail_steps = max(self.governor.frame.detail_steps, min(self.step + 3, NEW_PHASES))

    def stay_awake(self, steps: int) -> None:
        """None of the next steps is slept through, however short they are."""
        self.governor.awake_until = max(self.governor.awake_until, self.step + steps)

    @property
    def steps_by_backward(self) -> bool:
        """No optimizer steps: the script updates weights by hand, or forgot to."""
        if self.closure_of is not None:  # it is stepping right now; only where one step is all of training is each evaluation a step
            return self.evaluations >= 4 * MANUAL_AFTER
        if self.optimizer_steps:
            return self.since_step > 4 * MANUAL_AFTER
        return not self.registry.optimizers or self.backwards >= MANUAL_AFTER

    def step_ended(self, optimizer: torch.optim.Optimizer) -> None:
        if self.step_started is None:
            self.step_started = self.clock()
        self.optimizer_steps += 1
        self.stepped_last = weakref.ref(optimizer)
        self.fire("stepped", optimizer)
        if not self.deaf:
            self.tell("step_ends", optimizer)
        self.close_step()

    def close_step(self) -> None:
        """The step is over: write its numbers, account for our time, and plan the next."""
        if self.off:
            return
        started = self.clock()
        times = self.times
        own = times.own  # up to here; what closing itself takes is added at the end
        if not self.deaf:
            self.tell("step_closed", self.step)
        if self.sampled:
            self._settle_in_time()
        begun = self.step_started if self.step_started is not None else started
        took = max(started - begun - own, 1e-9)
        self.pulse["time/step"] = took
        self.pulse["time/data"] = times.data
        self.pulse["time/own"] = own
        if not self.asleep:
            self.pulse["time/forward"] = times.forward
            self.pulse["time/backward"] = times.backward
            self.pulse["time/optimizer"] = times.optimizer
        self.training_seconds += took
        self._plan(took)
        self._write_pulse()
        self._closing_took = self.clock() - started
        self.own_seconds += own + self._closing_took
        self.step += 1
        self.since_step = 0
        self.door = None
        self.pulse = {}
        self.times = StepTimes(own=0.0)
        self.sample_seconds = self.norm_seconds = 0.0
        self._begin_step()

    def _begin_step(self) -> None:
        self.step_started = self.clock()
        if not self.deaf:
            self.tell("step_planned")
        elif self.may_nap:
            self.nap = fall_asleep(self)

    def _settle_in_time(self) -> None:
        """Sampled numbers wait for their arithmetic, which is cheap for many steps at once: not long, and not when something is wrong."""
        self._unsettled += self.at_update
        started = self.clock()
        if self._waiting_since is None:
            self._waiting_since = started
        full = self._unsettled >= SETTLE_STEPS or self.waiting_bytes > SETTLE_BYTES
        if full or self.loss_finite is not True or started - self._waiting_since > SETTLE_SECONDS:
            self.settle()
            self.sample_seconds += self.clock() - started

    def settle(self) -> None:
        """Let observers do the arithmetic that has waited."""
        self._unsettled = self.waiting_bytes = 0
        self._waiting_since = None
        self.fire("settle")

    def abandon(self, error: BaseException) -> None:
        """The record cannot be written (disk full, folder gone): stop watching, leave training alone."""
        self.off = True
        self.remove_hooks()
        try:
            with (self.recording.path.parent / "bootstrap-errors.txt").open("a") as f:
                f.write(f"recording stopped at step {self.step}: {type(error).__name__}: {error}\n")
        except OSError:
            pass

    def _plan(self, took: float) -> None:
        governor = self.governor
        fixed = self.times.own - self.sample_seconds - self.norm_seconds + self._closing_took  # of the step before
        governor.step_took(took, max(fixed, 0.0), self.asleep, self.deaf)
        if self.sampled:
            governor.looked(self.step, self.looking, self.sample_seconds)
        if self.measure_norm:
            governor.norm.ran(self.step, self.norm_seconds, governor.step_seconds, governor.allowance)
        self._decide(self.step + 1)

    def _decide(self, step: int) -> None:
        """What is measured on the next step."""
        governor = self.governor
        broken = self.loss_finite is False and self._broken_looks < BROKEN_LOOKS
        self._broken_looks += broken
        self.looking = governor.parts_due(step, step in self.closely or broken)
        self.measure_norm = self.at_update or governor.norm.due(step)
        self.thorough = governor.frame.runs % 4 == 0
        slept = self.asleep
        self.asleep = not self.at_calls and governor.may_sleep(step)
        self.deaf = self.asleep and not self.looking
        self._choose_listeners()
        if slept and not self.deaf:
            self.tell("woke")

    def wake_up(self) -> None:
        """The rest of this step has to be heard by all."""
        if self.asleep:
            self.asleep = self.deaf = False
            self._choose_listeners()
            self.fire("woke")

    def _write_pulse(self) -> None:
        try:
            self.writer.frame("pulse", self.step, tuple(self.pulse), list(self.pulse.values()))
            self._tend_record()
        except Exception as e:
            self.abandon(e)

    def _tend_record(self) -> None:
        recording = self.recording
        recording.write_arrived()
        at_once = recording.at_once
        if recording.report_due(self.step):
            started = time.monotonic()
            self.report()
            recording.reported(time.monotonic() - started)
        if recording.writer.due() or at_once:
            if self._waiting_since is not None and self.step < YOUNG:
                self.settle()
            recording.writer.flush()

    # -- dozing (see nap.py) ------------------------------------------------------------------------------------

    def wake(self) -> None:
        """A nap ended with a whole step: plan the next one."""
        started = self.clock()
        self._decide(self.step)
        try:
            self._tend_record()
        except Exception as e:
            self.abandon(e)
            return
        self.own_seconds += self.clock() - started
        self._begin_step()

    def nap_failed(self, error: BaseException) -> None:
        """Dozing went wrong: stay awake from now on."""
        self.nap = None
        self.may_nap = False
        self.limit("steps that were dozed through", f"dozing failed at step {self.step}: {type(error).__name__}: {error}{_line_of(error)}")

    # -- telling and ending -------------------------------------------------------------------------------------

    def report(self, finished: bool = False) -> None:
        """Write all facts as they are known now."""
        self.settle()
        self.fire("report")
        writer = self.writer
        writer.fact("run", self._run_fact(finished))
        writer.fact("limits", [facts.Limit(what=k, why=v) for k, v in self.limits.items()])
        if self.crash is not None:
            writer.fact("crash", self.crash)

    def _run_fact(self, finished: bool) -> facts.Run:
        return facts.Run(
            script=os.path.abspath(sys.argv[0]) if sys.argv and sys.argv[0] else "",
            argv=tuple(sys.argv),
            cwd=os.getcwd(),
            started=self.recording.started,
            seconds=time.time() - self.recording.started,
            training_seconds=self.training_seconds,
            steps=self.step,
            backwards=self.backwards,
            forwards=self.forwards,
            epochs=max(self.epoch + 1, 0),
            steps_per_epoch=self.step / (self.epoch + 1) if self.epoch >= 0 else None,
            overhead_seconds=self.own_seconds,
            sampled_steps=self.governor.frame.runs,
            exit=self.exit,
            manual_updates=self.registry.manual_updates and not self.optimizer_steps,
            autograd_grad_calls=self.autograd_grad_calls,
            finished=finished,
            treatment=self.treatment,
            shortened=self.shortened,
        )

    def close(self) -> None:
        """Remove every hook and end the record. Safe to call twice, and from anywhere."""
        if os.getpid() != self.pid or self.off:
            return
        try:
            if self.nap is not None:
                self.nap.end()
            if self.since_step and self.steps_by_backward:
                self.close_step()
            self.fire("finish")
            self.recording.write_arrived(wait=True)
            if self.backwards or self.optimizer_steps or self.forwards or (self.crash is not None and self.registry.optimizers):
                self.report(finished=True)
                self.writer.close()
        except Exception as e:
            self.abandon(e)
        finally:
            self.off = True
            self.remove_hooks()

    def remove_hooks(self) -> None:
        self.stop_comparing()
        if self.trace is not None:
            self.trace.end()
        self.patches.undo()
        while self._closing:
            self._closing.pop()()

    def at_close(self, undo: Callable[[], None]) -> None:
        self._closing.append(undo)


def _without(observer: Observer, listeners: Listeners) -> Listeners:
    return {moment: [entry for entry in told if entry[0] is not observer] for moment, told in listeners.items()}


def _line_of(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f" ({os.path.basename(trace.tb_frame.f_code.co_filename)}, line {trace.tb_lineno})" if trace is not None else ""
