"""The value of every training loss, of every evaluation pass, and how often predictions were right."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sickbay import facts
from sickbay.nouns import Place
from sickbay.observe.observer import ForwardCall, LossCall, Observer, Site
from sickbay.observe.places import USER, here, key_here, key_of, kind_of, user_frame

if TYPE_CHECKING:
    from sickbay.observe.session import Session

JUMP = 3.0
"""A loss this many times its running mean makes the next step a sampled one."""
MOST_CLASSES = 64
MOST_PREDICTIONS = 2**20
"""Predictions are compared with targets up to this many numbers: beyond it, argmax would cost more than it tells."""
MOST_EVALUATIONS = 16


class Evaluation:
    """One way in which the script evaluates: a place in its source (and the caller of that place) and a data set."""

    def __init__(self, index: int, place: Place | None, loader: int | None) -> None:
        self.index = index
        self.place = place
        self.loader = loader
        self.passes = 0
        self.loss = 0.0
        self.weight = 0.0
        self.right = 0.0
        self.judged = 0.0
        self.batches = 0
        self.samples = 0

    def add(self, loss: float, samples: int, accuracy: float | None) -> None:
        self.loss += loss * samples
        self.weight += samples
        self.batches += 1
        if accuracy is not None:
            self.right += accuracy * samples
            self.judged += samples

    def close(self) -> tuple[float, float | None]:
        loss = self.loss / max(self.weight, 1e-12)
        accuracy = self.right / self.judged if self.judged else None
        self.passes += 1
        self.samples = int(self.weight)
        self.loss = self.weight = self.right = self.judged = 0.0
        self.batches = 0
        return loss, accuracy


class LossWatch(Observer):
    """Loss values by place; evaluation passes closed when training goes on."""

    name = "loss"
    sees = "loss values and evaluation passes"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.mean: dict[int, float] = {}
        self.backwards: dict[int, int] = {}
        """Backward passes of each loss within step `counted`."""
        self.counted = -1
        self.unscaled: tuple[int, torch.Tensor] | None = None
        self.evaluations: dict[Any, Evaluation] = {}
        self.open: list[Evaluation] = []
        self.undecided: list[tuple[Any, LossCall, bool]] = []
        self.training_places: set[Any] = set()
        self.model_training = True
        self.trained_in_train_mode = False
        self.shares: dict[str, np.ndarray[Any, Any]] = {}

    # -- training -----------------------------------------------------------------------------------------------

    def scaled(self, _: Any, loss: torch.Tensor, result: torch.Tensor) -> None:
        self.unscaled = (id(result), loss.detach())

    def forward_begins(self, call: ForwardCall) -> None:
        self.model_training = call.module.training

    def loss_known(self, loss: torch.Tensor, site: Site) -> None:
        self._settle()
        if self.open:
            self._close_evaluations()
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
        count = self.backwards[site.index] = self.backwards.get(site.index, 0) + 1
        before = self.session.pulse.get(name, 0.0)
        self.session.pulse[name] = before + (value - before) / count  # accumulation: the mean over the step
        running = self.mean.get(site.index)
        if not math.isfinite(value):
            self.session.writer.event(self.session.step, "nonfinite-loss", {"loss": site.index, "value": str(value), "place": site.place})
            self.session.governor.frame.force(self.session.step + 1)
        elif running is None or not math.isfinite(running):
            self.mean[site.index] = value
        else:
            if abs(value) > JUMP * abs(running) + 1e-6:
                self.session.governor.frame.force(self.session.step + 1)
            self.mean[site.index] = 0.9 * running + 0.1 * value

    def step_closed(self, _: int) -> None:
        count = self.session.since_step
        if count > 1:
            self.session.pulse["backwards"] = count
        for name, counts in self.shares.items():
            total = counts.sum()
            if total:
                names = tuple(str(i) for i in range(len(counts)))
                self.session.writer.frame(name, self.session.step, names, counts / total)
        self.shares.clear()

    # -- evaluation ---------------------------------------------------------------------------------------------

    def loss_called(self, call: LossCall | None) -> None:
        if call is None:
            return
        if not call.grad:
            self._evaluate(call, self._key(), here())
        else:
            # With gradients on this may be training or a validation pass that forgot no_grad: backward will tell.
            self.undecided.append((self._key(), call, self.model_training))
            if len(self.undecided) > 1:
                self._settle(keep_last=True)
        if call.grad and self.session.sampled and self.model_training:
            self._judge_training(call)

    def _key(self) -> Any:
        """Two user frames: one `evaluate()` may be called for several data sets."""
        key = key_here()
        frame = user_frame()
        caller = frame.f_back if frame is not None else None
        while caller is not None and kind_of(caller.f_code) != USER:  # `@torch.no_grad()` stands between them
            caller = caller.f_back
        return key, key_of(caller) if caller is not None else None, self.session.loader

    def _settle(self, keep_last: bool = False) -> None:
        """Decide about losses computed with gradients on: the last one before backward was training."""
        last = self.undecided[-1:] if self.undecided else []
        if last and not keep_last:
            key, _, training = last[0]
            self.training_places.add(key[0])
            self.trained_in_train_mode |= training
        for key, call, training in self.undecided[:-1]:
            if self.session.backwards and (key[0] not in self.training_places or (self.trained_in_train_mode and not training)):
                self._evaluate(call, key, None)
        self.undecided = last if keep_last else []

    def _evaluate(self, call: LossCall, key: Any, place: Place | None) -> None:
        if not call.output.is_cpu and not self.session.sampled:
            return  # no device sync outside sampled steps
        evaluation = self.evaluations.get(key)
        if evaluation is None:
            if len(self.evaluations) >= MOST_EVALUATIONS:
                return
            evaluation = self.evaluations[key] = Evaluation(len(self.evaluations), place, self.session.loader)
        if evaluation not in self.open:
            self.open.append(evaluation)
        output = call.output.detach()
        loss = output.item() if output.numel() == 1 else output.float().mean().item()
        samples = call.input.shape[0] if call.input.dim() else 1
        if call.options.get("reduction") == "sum":
            loss /= max(samples, 1)
        evaluation.add(loss, samples, self._accuracy(call, "predicted_share/eval"))

    def _close_evaluations(self) -> None:
        for evaluation in self.open:
            loss, accuracy = evaluation.close()
            suffix = f"@{evaluation.index}" if evaluation.index else ""
            self.session.pulse[f"loss/eval{suffix}"] = loss
            if accuracy is not None:
                self.session.pulse[f"accuracy/eval{suffix}"] = accuracy
        self.open.clear()

    # -- predictions --------------------------------------------------------------------------------------------

    def _judge_training(self, call: LossCall) -> None:
        started = self.session.clock()
        accuracy = self._accuracy(call, "predicted_share/train")
        if accuracy is not None:
            self.session.pulse["accuracy/train"] = accuracy
        self.session.sample_seconds += self.session.clock() - started

    def _accuracy(self, call: LossCall, share: str) -> float | None:
        predicted, target = _classes(call)
        if predicted is None or target is None or not target.numel():
            return None
        classes = call.input.shape[1] if call.input.dim() > 1 and call.input.shape[1] > 1 else 2
        if classes <= MOST_CLASSES:
            counts = torch.bincount(predicted.reshape(-1).cpu(), minlength=classes).numpy()
            before = self.shares.get(share)
            self.shares[share] = counts if before is None or len(before) != len(counts) else before + counts
        return float((predicted == target).float().mean().item())

    def finish(self) -> None:
        if self.undecided:
            self._settle(keep_last=True)
        if self.open:
            self.session.pulse.clear()
            self._close_evaluations()
            self.session.writer.frame("pulse", self.session.step, tuple(self.session.pulse), list(self.session.pulse.values()))
            self.step_closed(self.session.step)

    def report(self) -> None:
        known = [
            facts.Evaluation(
                index=e.index, place=self.session.keep_source(e.place), loader=e.loader, passes=e.passes + bool(e.batches), samples=e.samples
            )
            for e in self.evaluations.values()
        ]
        self.session.writer.fact("evaluations", known)


def _classes(call: LossCall) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """Predicted and given classes where the loss makes them plain."""
    x, y = call.input.detach(), call.target
    if y is None or x.numel() > MOST_PREDICTIONS:
        return None, None
    if call.function in ("cross_entropy", "nll_loss") and x.dim() > 1 and not y.is_floating_point() and y.dim() == x.dim() - 1:
        return x.argmax(1), y
    if call.function in ("binary_cross_entropy", "binary_cross_entropy_with_logits") and x.shape == y.shape:
        threshold = 0.5 if call.function == "binary_cross_entropy" else 0.0
        return (x > threshold).long(), (y > 0.5).long()
    return None, None
