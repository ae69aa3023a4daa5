"""Whether whole-number targets of a regression loss mean quantities (their inputs are ordered) or names (they are not)."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from sickbay import facts
from sickbay.observe.observer import ForwardCall, LossCall, Observer
from sickbay.observe.places import here

if TYPE_CHECKING:
    from sickbay.observe.session import Session

FUNCTIONS = frozenset({"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"})
LOOKS = 24
FEATURES = 256
MOST_CLASSES = 50
EACH = 5
"""A target counts when it was seen this often: fewer give no mean."""


class ClassOrderWatch(Observer):
    """Keeps the inputs of the first batches of such a loss, a few hundred rows of a few hundred numbers."""

    name = "class order"
    sees = "whether whole-number targets are ordered in the data"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.entered: torch.Tensor | None = None
        self.rows: list[tuple[NDArray[Any], NDArray[Any]]] = []
        self.fact: facts.ClassOrder | None = None
        self.done = False

    def forward_begins(self, call: ForwardCall) -> None:
        if not self.done and call.grad:
            first = next((a for a in call.args if isinstance(a, torch.Tensor)), None)
            self.entered = first if first is not None and first.is_floating_point() and first.is_cpu and first.dim() > 1 else None

    def backward_begins(self, *_: Any) -> None:
        self.entered = None  # no loss function took it: let it go

    def loss_called(self, call: LossCall | None) -> None:
        entered, self.entered = self.entered, None
        if self.done or call is None or not call.grad or call.function not in FUNCTIONS or call.target is None or entered is None:
            return
        target = call.target.detach()
        if target.numel() != len(entered) or not target.is_cpu or not bool((target == target.round()).all()):
            self.done = not self.rows  # numbers with fractions: quantities, nothing to ask
            return
        step = max(1, entered[0].numel() // FEATURES)
        self.rows.append((entered.detach().flatten(1)[:, ::step].float().numpy().copy(), target.flatten().double().numpy().copy()))
        if len(self.rows) == LOOKS:
            self._judge(here())

    def _judge(self, place: Any) -> None:
        self.done = True
        widths = {x.shape[1] for x, _ in self.rows}
        if len(widths) == 1:
            self.fact = order(np.concatenate([x for x, _ in self.rows]), np.concatenate([y for _, y in self.rows]), place)
        self.rows = []

    def finish(self) -> None:
        if self.rows:
            self._judge(None)

    def report(self) -> None:
        if self.fact is not None:
            self.session.writer.fact("class_order", [self.fact])


def order(x: NDArray[Any], y: NDArray[Any], place: Any = None) -> facts.ClassOrder | None:
    """How well the distance of mean inputs follows the difference of the targets."""
    values, counts = np.unique(y, return_counts=True)
    values = values[counts >= EACH]
    if not 3 <= len(values) <= MOST_CLASSES or not np.isfinite(x).all():
        return None
    scale = x.std(axis=0)
    x = x[:, scale > 0] / scale[scale > 0]
    groups = [x[y == v] for v in values]
    means = np.stack([g.mean(axis=0) for g in groups])
    noise = np.array([g.var(axis=0).sum() / len(g) for g in groups])
    pairs = list(combinations(range(len(values)), 2))
    distance = np.array([((means[i] - means[j]) ** 2).sum() for i, j in pairs])
    by_chance = np.array([noise[i] + noise[j] for i, j in pairs])
    difference = np.array([values[j] - values[i] for i, j in pairs])
    correlation = float(np.corrcoef(_ranks(difference), _ranks(distance))[0, 1])
    return facts.ClassOrder(
        place=place,
        classes=len(values),
        samples=len(y),
        correlation=correlation if np.isfinite(correlation) else 0.0,
        separation=float(distance.mean() / max(by_chance.mean(), 1e-12)),
    )


def _ranks(numbers: NDArray[Any]) -> NDArray[Any]:
    """Ranks, equal numbers sharing theirs."""
    _, inverse, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[inverse], dtype=float)
