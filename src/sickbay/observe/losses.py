"""The value of every training loss, of every evaluation pass, and how often predictions were right."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sickbay import facts
from sickbay.observe.evaluations import Evaluation, Line
from sickbay.observe.judged import HandPass, JudgedWatch
from sickbay.observe.numbers import Array
from sickbay.observe.observer import JUMP, ForwardCall, LossCall, Observer, Site
from sickbay.observe.places import USER, key_here, key_of, kind_of, place_of, user_frame
from sickbay.observe.predictions import Compared, compared
from sickbay.observe.trained_on import Calls, Result, TrainedOn
from sickbay.observe.unreduced import Unreduced

if TYPE_CHECKING:
    from sickbay.observe.session import Session

MOST_EVALUATIONS = 16


class LossWatch(Observer):
    """Loss values by place; evaluation passes closed when training goes on."""

    name = "loss"
    sees = "loss values and evaluation passes"
    takes = ("forward",)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.backwards: dict[int, int] = {}
        """Backward passes of each loss within step `counted`."""
        self.counted = -1
        self.unscaled: tuple[int, torch.Tensor] | None = None
        self.evaluations: dict[Any, Evaluation] = {}
        self.open: list[Evaluation] = []
        self.by_hand: JudgedWatch | None = None
        self.trained_on = TrainedOn()
        self.unreduced = Unreduced()
        self.model_training = True
        self.model: Line | None = None
        """Where the newest forward pass was called."""
        self.waiting: list[tuple[int, Compared]] = []
        """Predictions of sampled training steps, by step."""
        self.evaluated: list[Array] = []
        """Predicted classes of evaluation passes since the last step."""

    # -- training -----------------------------------------------------------------------------------------------

    def scaled(self, _: Any, loss: torch.Tensor, result: torch.Tensor) -> None:
        self.unscaled = (id(result), loss.detach())

    def forward_begins(self, call: ForwardCall) -> None:
        self.model_training = call.module.training
        self.model = call.place_key

    def loss_known(self, loss: torch.Tensor, site: Site) -> None:
        for key, calls in self.trained_on.backward_begins(loss):
            self._take(key, calls)
        self._close_evaluations()
        self.unreduced.differentiated(loss)
        value = loss.detach()
        if self.unscaled is not None and self.unscaled[0] == id(loss):
            value = self.unscaled[1]
        if value.numel() != 1:
            value = value.float().mean()
        name = site.series("loss/train")
        if value.is_cpu:
            number = value.item()
            self.session.loss_finite = math.isfinite(number)
            self._note(site, name, number)
        else:
            self.session.later(name, value)
            self.session.loss_finite = bool(torch.isfinite(value)) if self.session.sampled else None

    def _note(self, site: Site, name: str, value: float) -> None:
        if self.counted != self.session.step:
            self.counted = self.session.step
            self.backwards.clear()
        if not self.session.evaluations or name not in self.session.pulse:  # a closure's first value; the next ones are of weights that moved
            count = self.backwards[site.index] = self.backwards.get(site.index, 0) + 1
            before = self.session.pulse.get(name, 0.0)
            self.session.pulse[name] = before + (value - before) / count  # accumulation: the mean over the step
        if not math.isfinite(value):
            self.session.writer.event(self.session.step, "nonfinite-loss", {"loss": site.index, "value": str(value), "place": site.place})
            self.session.governor.frame.force(self.session.step + 1)
            return
        if site.running is not None and abs(value) > JUMP * abs(site.running) + 1e-6:
            self.session.governor.frame.force(self.session.step + 1)
        site.follow((value,))

    def step_closed(self, _: int) -> None:
        count = self.session.since_step
        if count > 1:
            self.session.pulse["backwards"] = count
        if self.evaluated:
            _write_shares(self.session.writer.frame, "predicted_share/eval", self.session.step, self.evaluated)
            self.evaluated = []

    # -- evaluation ---------------------------------------------------------------------------------------------

    def loss_called(self, call: LossCall | None) -> None:
        if call is None:
            return
        key = self._key()
        if call.grad:
            self.unreduced.called(key[0], call)
        elif self.unreduced.weighs(key[0], call):
            return
        if call.grad and (before := self.trained_on.called_again(key)) is not None:
            self._take(key, before)
            self._close_evaluations()
        if not call.grad:
            self._evaluate(call, key)
        elif not self.trained_on.is_training(key, self.model_training) and (call.output.is_cpu or self.session.sampled):
            self.trained_on.note(key, call.input, call.output, self.model_training, self._result(call))
        if call.grad and self.session.at_forward and self.model_training:
            self._judge_training(call)

    def _key(self) -> Any:
        """Two user frames: one `evaluate()` may be called for several data sets."""
        key = key_here()
        frame = user_frame()
        caller = frame.f_back if frame is not None else None
        while caller is not None and kind_of(caller.f_code) != USER:  # `@torch.no_grad()` stands between them
            caller = caller.f_back
        return key, key_of(caller) if caller is not None else None, self.session.loader

    def _take(self, key: Any, calls: Calls) -> None:
        """Losses that were computed with gradients on, and nothing was trained on them: a validation pass that forgot no_grad."""
        if (evaluation := self._open(key)) is not None:
            for result in calls.results:
                self._add(evaluation, result)

    def _evaluate(self, call: LossCall, key: Any) -> None:
        if not call.output.is_cpu and not self.session.sampled:
            return  # no device sync outside sampled steps
        if (evaluation := self._open(key)) is not None:
            result = self._result(call)
            self._add(evaluation, result)
            if (judged := self._judged) is not None:
                judged.scored.loss(result.loss, result.samples, result.accuracy)

    def _open(self, key: Any, by_hand: bool = False) -> Evaluation | None:
        evaluation = self.evaluations.get(key)
        if evaluation is None:
            if len(self.evaluations) >= MOST_EVALUATIONS:
                return None
            at, caller, loader, part = key[1:] if by_hand else (*key, 0)
            evaluation = self.evaluations[key] = Evaluation(len(self.evaluations), place_of(*at) if at else None, loader)
            evaluation.model, evaluation.caller = at if by_hand else self.model, caller
            evaluation.by_hand, evaluation.part = by_hand, part
        if evaluation not in self.open:
            self.open.append(evaluation)
        return evaluation

    def _result(self, call: LossCall) -> Result:
        output = call.output.detach()
        loss = output.item() if output.numel() == 1 else output.float().mean().item()
        samples = call.input.shape[0] if call.input.dim() else 1
        if call.options.get("reduction") == "sum":
            loss /= max(samples, 1)
        judged = compared(call)
        return Result(loss, samples, *((judged.accuracy(), judged.counts()) if judged is not None else (None, None)))

    def _add(self, evaluation: Evaluation, result: Result) -> None:
        evaluation.add(result.loss, result.samples, result.accuracy)
        if result.counts is not None:
            self.evaluated.append(result.counts)

    def _close_evaluations(self) -> None:
        for key, found in self._judged.take().items() if self._judged is not None else ():
            self._take_by_hand(key, found)
        for evaluation in self.open:
            score = evaluation.close()
            suffix = f"@{evaluation.index}" if evaluation.index else ""
            if score.loss is not None:
                self.session.pulse[f"loss/eval{suffix}"] = score.loss
            if score.accuracy is not None:
                self.session.pulse[f"accuracy/eval{suffix}"] = score.accuracy
        self.open.clear()

    @property
    def _judged(self) -> JudgedWatch | None:
        if self.by_hand is None or self.by_hand not in self.session.observers:  # it may have failed meanwhile
            self.by_hand = next((o for o in self.session.observers if isinstance(o, JudgedWatch)), None)
        return self.by_hand

    def _take_by_hand(self, key: Any, found: HandPass) -> None:
        """What the script itself compared in this pass; where a loss was computed too, it is that one's."""
        model, caller, loader, part = key
        same = next((e for e in self.open if not e.by_hand and e.same_as(loader, found)), None)
        if same is not None:
            if not same.judged:
                same.right, same.judged = found.right, found.judged
        elif (evaluation := self._open(("by hand", model, caller, loader, part), by_hand=True)) is not None:
            evaluation.add_by_hand(found)

    # -- predictions --------------------------------------------------------------------------------------------

    def _judge_training(self, call: LossCall) -> None:
        started = self.session.clock()
        if (judged := compared(call)) is not None:
            self.waiting.append((self.session.step, judged))
            self.session.waiting_bytes += judged.predicted.nbytes + judged.target.nbytes
        self.session.sample_seconds += self.session.clock() - started

    def settle(self) -> None:
        write = self.session.writer.frame
        for step, group in groupby(self.waiting, key=lambda item: item[0]):
            judged = [j for _, j in group]
            if (accuracy := judged[-1].accuracy()) is not None:
                write("pulse", step, ("accuracy/train",), [accuracy])
            _write_shares(write, "predicted_share/train", step, [counts for j in judged if (counts := j.counts()) is not None])
            _write_shares(write, "label_share/train", step, [counts for j in judged if (counts := j.labels()) is not None])
        self.waiting = []

    def finish(self) -> None:
        for key, calls in self.trained_on.finish():
            self._take(key, calls)
        self.session.pulse.clear()
        self._close_evaluations()
        if self.session.pulse:
            self.session.writer.frame("pulse", self.session.step, tuple(self.session.pulse), list(self.session.pulse.values()))
            self.step_closed(self.session.step)

    def report(self) -> None:
        self.session.writer.fact("evaluations", [self._fact(e) for e in self.evaluations.values()])

    def _fact(self, e: Evaluation) -> facts.Evaluation:
        keep = self.session.keep_source
        return facts.Evaluation(
            index=e.index,
            place=keep(e.place),
            loader=e.loader,
            passes=e.passes + bool(e.batches),
            samples=e.samples,
            model_at=keep(place_of(*e.model)) if e.model is not None else None,
            called_from=keep(place_of(*e.caller)) if e.caller is not None else None,
            by_hand=e.by_hand,
            part=e.part,
        )


def _write_shares(write: Callable[..., None], family: str, step: int, counts: list[Array]) -> None:
    """The share of each class among the predictions of one step."""
    if not counts:
        return
    total = np.asarray(sum(c for c in counts if len(c) == len(counts[-1])))
    if all_of_them := total.sum():
        write(family, step, _numbers(len(total)), total / all_of_them)


@lru_cache(maxsize=64)
def _numbers(count: int) -> tuple[str, ...]:
    return tuple(str(i) for i in range(count))
