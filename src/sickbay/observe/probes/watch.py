"""When experiments are made: once per model, early, if they cost little; after the backward pass, when the memory of the forward pass is free again."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from sickbay import facts
from sickbay.nouns import Place
from sickbay.observe.observer import ForwardCall, LossCall, Observer
from sickbay.observe.places import expression, expression_of, here, place_of, user_frame
from sickbay.observe.probes.future import Leak, Shift, knows_its_answer, shift_of
from sickbay.observe.probes.growth import GrowthWatch
from sickbay.observe.probes.norms import NormWatch
from sickbay.observe.probes.origin import Origin, by_design
from sickbay.observe.probes.rerun import Rerun, Spot
from sickbay.observe.probes.samples import Meeting, samples_meet
from sickbay.observe.probes.untouched import untouched
from sickbay.observe.trace import Trace, inside_transform

if TYPE_CHECKING:
    from sickbay.observe.session import Session

ATTEMPTS = (5, 40, 160)
"""Steps from which a model is tried: past the first steps, in which zero-initialised parts still give nothing away; again later
if the answer was not clear."""
PASSES = 4
"""Forward passes that both experiments take with a model that is in order (three, and the copies of its weights). One that is not is worth the dozen."""
QUICK = 0.25
"""Seconds that one experiment may always take (less than a study of the samples at the end takes); dearer ones wait until the run is long enough to bear them."""
SHARE = 1.0
"""...which is when they are this part of the budget for all that has been trained so far."""
SUSPICIOUS_SHARE = 8.0
"""...or, while the loss is suspicious, this many times the budget of what has been trained so far: some 8 steps of every hundred for once, in a run that has no use for its steps."""
STUCK, TOO_GOOD = 0.9, 0.1
"""A loss is suspicious while it is still this part of its first value, or so soon only this part of it (an answer that is seen is learned quickly)."""
MOST_MODELS = 4
_BUILT_WRONG = (torch.nn.RNNBase, torch.nn.modules.conv._ConvNd)
"""Layers whose mistake stands where they are made (batch_first, bidirectional, padding), not where they are called."""


@dataclass(frozen=True, slots=True)
class Loss:
    """What an experiment needs of a loss that was called: not its input, which would keep the forward pass in memory."""

    target: torch.Tensor
    ignored: int
    place: Place | None
    call: str


class ProbeWatch(Observer):
    """Decides, gathers what an experiment needs within one step, and keeps the answers."""

    name = "probes"
    sees = "whether predictions depend on other samples or on later positions"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.origin = Origin()
        self.norms = NormWatch(session)
        self.growth = GrowthWatch(session)
        self.tries: dict[int, int] = {}
        self.largest: dict[int, int] = {}
        """Numbers in the largest input of each model so far."""
        self.wanted = False
        """In this step an experiment may be made."""
        self.forwards: list[ForwardCall] = []
        self.losses: list[Loss] = []
        self.mixing: list[facts.BatchMixing] = []
        self.leaks: list[facts.FutureLeak] = []
        self.samples_tested = self.future_tested = False
        self.over = False
        session.on_output += [self.norms.passed, self.growth.passed]

    # -- gathering ----------------------------------------------------------------------------------------------

    @property
    def due(self) -> bool:
        """This step may hold an experiment. Rather not a sampled one: its time would count as the price of sampling."""
        step = self.session.step
        return not self.over and step >= ATTEMPTS[0] and (not self.session.sampled or step > 2 * ATTEMPTS[0])

    def compiled(self, _: Any) -> None:
        self.over = True  # running the double would compile it, too

    def loader_started(self, loader: Any, iterator: Any, *_: Any) -> None:
        if not self.over:
            self.origin.loader_started(loader, iterator)

    def batch_loaded(self, iterator: Any, batch: Any, _: float) -> None:
        if not self.over:
            self.origin.batch_loaded(iterator, batch)

    def forward_begins(self, call: ForwardCall) -> None:
        if self.over or not call.grad:
            return
        self.largest[id(call.module)] = max(_size(call), self.largest.get(id(call.module), 0))
        self.wanted = self.wanted or (self.due and self._open(call))
        if (followed := self._followed(call)) is not None:
            self.origin.look_at(call.module, *followed)

    def _followed(self, call: ForwardCall) -> tuple[torch.Tensor, Trace] | None:
        """On a step that is followed from its beginning: the model's first input, and what is known so far."""
        trace = self.session.trace
        x = next((a for a in call.args if isinstance(a, torch.Tensor) and a.dim()), None)
        whole = self.session.tracing and trace is not None and not trace.outputs_only and self.session.step
        return (x, trace) if whole and x is not None and trace is not None else None

    def forward_ends(self, call: ForwardCall, _: Any) -> None:
        if not self.over and call.grad and (followed := self._followed(call)) is not None:
            self.origin.look_back(call.module, *followed)
        if self.wanted and call.grad and self._open(call) and self._whole(call) and self._affordable(call):
            self.forwards = [*self.forwards[-3:], call]

    def loss_called(self, call: LossCall | None) -> None:
        if self.wanted and call is not None and call.grad and call.target is not None:
            frame = user_frame()
            loss = Loss(call.target.detach(), call.ignored, here(), expression(frame) if frame is not None else "")
            self.losses = [*self.losses[-3:], loss]

    def _open(self, call: ForwardCall) -> bool:
        """This model has not given a clear answer yet, and its next attempt is due."""
        tried = self.tries.get(id(call.module), 0)
        return tried < len(ATTEMPTS) and self.session.step >= ATTEMPTS[tried] and (tried > 0 or len(self.tries) < MOST_MODELS)

    def _whole(self, call: ForwardCall) -> bool:
        """Not the short rest at the end of an epoch, where there is too little to tell positions and samples apart."""
        return 2 * _size(call) >= self.largest.get(id(call.module), 0)

    def _affordable(self, call: ForwardCall) -> bool:
        share = SUSPICIOUS_SHARE if self._suspicious() else SHARE
        return PASSES * call.seconds <= max(QUICK, share * self.session.settings.budget * self.session.training_seconds)

    def _suspicious(self) -> bool:
        site = self.session.site
        if site is None or site.first is None or site.running is None or site.first <= 0:
            return False
        return not TOO_GOOD * site.first < site.running < STUCK * site.first

    def woke(self) -> None:
        self._forget()

    def _forget(self) -> tuple[list[ForwardCall], list[Loss]]:
        """Let go of what was gathered in this step."""
        gathered = self.forwards, self.losses
        self.forwards, self.losses, self.wanted = [], [], False
        return gathered

    # -- experimenting ------------------------------------------------------------------------------------------

    def backward_ends(self, *_: Any) -> None:
        forwards, losses = self._forget()
        if not forwards or inside_transform():
            return
        started = self.session.clock()
        for call in forwards:
            if self._open(call):
                self.tries[id(call.module)] = self.tries.get(id(call.module), 0) + 1
                self._try(call, losses)
        took = self.session.clock() - started
        self.session.sample_seconds += took
        self.session.structure_seconds += took
        self.over = len(self.tries) >= MOST_MODELS and min(self.tries.values()) >= len(ATTEMPTS)

    gradients_given = backward_ends  # by torch.autograd.grad

    def _try(self, call: ForwardCall, losses: list[Loss]) -> None:
        try:
            with untouched() as rewind:
                rerun = Rerun(call.module, call.args, call.kwargs, rewind)
                clear = self._experiment(call, rerun, losses)
            if clear or rerun.meddles:
                self.tries[id(call.module)] = len(ATTEMPTS)
        except Exception:
            # The double could not be made or run (`NoDouble`, or whatever the user's forward raises): there is no answer, and
            # another attempt would end the same way.
            self.tries[id(call.module)] = len(ATTEMPTS)

    def _experiment(self, call: ForwardCall, rerun: Rerun, losses: list[Loss]) -> bool:
        shifted = _shifted(rerun.inputs, losses)
        future = self._future(call, rerun, *shifted) if shifted is not None else None
        samples = self._samples(call, rerun, shifted[1:3] if shifted is not None else None)
        return future is not False and samples is not False

    def _future(self, call: ForwardCall, rerun: Rerun, loss: Loss, index: int, shift: Shift) -> bool:
        answer = knows_its_answer(rerun, index, shift)
        self.future_tested |= answer != "unclear"
        if isinstance(answer, Leak):
            leak = facts.FutureLeak(
                model=type(call.module).__name__,
                step=self.session.step,
                positions=rerun.inputs[index].shape[shift.dimension],
                ahead=shift.ahead,
                effect=answer.effect,
                earlier=answer.earlier,
                loss_at=loss.place,
                loss_call=loss.call,
                compared=shift.compared,
            )
            self.leaks.append(replace(leak, **self._spot(answer.spot, _BUILT_WRONG)) if answer.spot is not None else leak)
        return answer != "unclear"

    def _samples(self, call: ForwardCall, rerun: Rerun, sequence: tuple[int, Shift] | None) -> bool | None:
        index = next((i for i, t in enumerate(rerun.inputs) if t.dim()), None) if sequence is None else sequence[0]
        if index is None:
            return None
        dimension = self.origin.dimension(call.module, rerun.inputs, index) if sequence is None else sequence[1].rows
        if dimension is None or by_design(call.module, rerun.inputs, index, rerun.inputs[index].shape[dimension]):
            return None
        answer = samples_meet(rerun, index, dimension)
        self.samples_tested |= answer != "unclear"
        if isinstance(answer, Meeting):
            meeting = facts.BatchMixing(
                model=type(call.module).__name__,
                step=self.session.step,
                samples=answer.samples,
                changed=answer.changed,
                effect=answer.effect,
                shape=answer.spot.shape,
                result=answer.spot.result,
            )
            self.mixing.append(replace(meeting, **self._spot(answer.spot, (*_BUILT_WRONG, torch.nn.MultiheadAttention))))
        return answer != "unclear"

    # -- telling ------------------------------------------------------------------------------------------------

    def _spot(self, spot: Spot, built_wrong: tuple[type, ...]) -> dict[str, Any]:
        """The fields of a fact that say where: the user's line of the call, or of the layer's making where that is the mistake."""
        registry = self.session.registry
        torchs = list(itertools.takewhile(lambda m: type(m).__module__.startswith("torch."), spot.layers))
        inner = torchs[0] if torchs else None
        parent = spot.layers[1] if len(spot.layers) > 1 else None
        contained = inner is not None and parent in torchs
        key = spot.key
        if key is None or isinstance(inner, built_wrong) or contained:
            built = next((k for m in torchs if (k := registry.built_at(m)) is not None), None)
            key = built if built is not None and (contained is False or isinstance(inner, built_wrong) or key is None or _leaf(inner)) else key
        place = place_of(*key) if key is not None else None
        layer = registry.layer_name(spot.layers[0]) if spot.layers else None
        return {
            "op": spot.name,
            "place": replace(place, layer=layer or None) if place is not None else None,
            "call": expression_of(*key) if key is not None else "",
            "layer_kind": _called(torchs),
        }

    def report(self) -> None:
        fact = facts.Probes(
            samples_tested=self.samples_tested,
            future_tested=self.future_tested,
            mixing=tuple(self.mixing),
            leaks=tuple(self.leaks),
            batch_norms=self.norms.told(),
            growth=self.growth.told(),
        )
        for place in facts.places_in(fact):
            self.session.keep_source(place)
        self.session.writer.fact("probes", fact)


def _size(call: ForwardCall) -> int:
    return next((a.numel() for a in (*call.args, *call.kwargs.values()) if isinstance(a, torch.Tensor)), 0)


def _called(torchs: list[torch.nn.Module]) -> str:
    """The torch layer that the user calls: the outermost one, unless that only strings layers together."""
    layers = [m for m in torchs if not isinstance(m, (torch.nn.Sequential, torch.nn.ModuleList))]
    return type(layers[-1]).__name__ if layers else ""


def _leaf(module: torch.nn.Module | None) -> bool:
    return module is not None and next(module.children(), None) is None


def _shifted(inputs: list[torch.Tensor], losses: list[Loss]) -> tuple[Loss, int, Shift] | None:
    """The loss whose targets are an input of the model, or its future."""
    for loss in reversed(losses):
        for i, x in enumerate(inputs):
            if (shift := shift_of(x, loss.target, loss.ignored)) is not None:
                return loss, i, shift
    return None
