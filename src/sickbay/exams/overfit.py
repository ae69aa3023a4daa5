"""`sickbay.overfit(model, batch, loss_fn)`: can the model learn one batch by heart? If not, something is wrong with it or with the loss.

A healthy network of any size memorises a few dozen samples within a few hundred steps, whatever they are. The examination works on a copy with
dropout off; the model, its weights, buffers and mode, and the random generators are as they were afterwards.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from sickbay.exams.by_heart import memorised
from sickbay.exams.randomness import Randomness

if TYPE_CHECKING:
    from collections.abc import Iterator

RATES = (1e-2, 1e-3, 1e-4)
"""Adam's learning rates that are tried in turn: one of them suits any network that can learn."""


@dataclass(frozen=True, slots=True)
class Overfit:
    """Truthy if the batch was memorised."""

    overfits: bool
    first: float
    last: float
    steps: int
    rate: float
    reason: str
    """Why not, as far as can be seen; what was reached, if so."""

    def __bool__(self) -> bool:
        return self.overfits


def overfit(model: torch.nn.Module, batch: Any, loss_fn: Callable[[Any, Any], torch.Tensor], *, steps: int = 300) -> Overfit:
    """Train a copy of the model on one batch `(inputs, targets)`. `loss_fn(model(inputs), targets)` is the loss."""
    inputs, targets = batch
    kept = Randomness.taken()
    try:
        best: Overfit | None = None
        for rate in RATES:
            tried = _train(copy.deepcopy(model), inputs, targets, loss_fn, steps, rate)
            if best is None or tried.overfits or tried.last < best.last:
                best = tried
            if tried.overfits or tried.steps == 0:
                break
    finally:
        kept.restore()
    assert best is not None
    return best


def _train(model: torch.nn.Module, inputs: Any, targets: Any, loss_fn: Callable[[Any, Any], torch.Tensor], steps: int, rate: float) -> Overfit:
    model.train()
    for module in model.modules():
        if isinstance(module, torch.nn.modules.dropout._DropoutNd):
            module.p = 0.0
    trainable = [p for p in model.parameters() if p.requires_grad]
    if not trainable:
        return Overfit(False, float("nan"), float("nan"), 0, rate, "the model has no trainable parameter")
    optimizer = torch.optim.Adam(trainable, lr=rate)
    first = last = float("nan")
    step = 0
    for step in range(1, steps + 1):
        loss = loss_fn(
            model(*inputs) if isinstance(inputs, (tuple, list)) else model(**inputs) if isinstance(inputs, dict) else model(inputs), targets
        )
        last = float(loss.detach())
        first = last if step == 1 else first
        if not loss.requires_grad:
            return Overfit(False, first, last, 0, rate, "the loss has no gradient: it is cut off from the model (detach, argmax, .item(), no_grad)")
        if last != last or abs(last) == float("inf"):
            return Overfit(False, first, last, step, rate, f"the loss is not finite at step {step}")
        if memorised(first, last):
            return Overfit(True, first, last, step, rate, f"the loss went from {first:.3g} to {last:.3g} in {step} steps")
        optimizer.zero_grad()
        loss.backward()
        if step == 1 and (dead := list(_unreached(model))):
            told = ", ".join(dead[:4]) + (f" and {len(dead) - 4} more" if len(dead) > 4 else "")
            if len(dead) == len(trainable):
                return Overfit(False, first, last, 0, rate, f"no parameter gets a gradient: {told}")
        optimizer.step()
    dead = list(_unreached(model))
    why = f"; these parameters get no gradient: {', '.join(dead[:4])}" if dead else ""
    return Overfit(False, first, last, step, rate, f"the loss went from {first:.3g} only to {last:.3g} in {step} steps{why}")


def _unreached(model: torch.nn.Module) -> Iterator[str]:
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and (parameter.grad is None or not bool(parameter.grad.abs().max() > 0)):
            yield name
