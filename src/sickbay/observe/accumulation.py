"""Gradient accumulation: how many backward passes go into a step, and whether their sum is brought back to a mean."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import TYPE_CHECKING, Any

import torch

from sickbay import facts
from sickbay.observe.numbers import gradient_norms, total_norm
from sickbay.observe.observer import ForwardCall, Observer, Site
from sickbay.observe.places import USER, key_of, kind_of, user_frame
from sickbay.observe.reached import leaves_of
from sickbay.observe.scaling import mean_scale

if TYPE_CHECKING:
    from sickbay.observe.session import Session

LOOKS = 64
"""Looks at the scale of each loss: it does not change."""
TENSORS = 4
"""Gradients compared before and after what the script does to them."""
STACK = 6
BACKWARDS = 4
"""Backward passes of one step whose leaves are compared."""


class Entry:
    """One loss that one optimizer steps on."""

    def __init__(self, loss: int, optimizer: int) -> None:
        self.loss = loss
        self.optimizer = optimizer
        self.counts: Counter[int] = Counter()
        self.retained = 0
        self.rows: int | None = None
        self.scales: list[float] = []
        self.unknown = 0
        """Looks that could not tell the scale (a sum, an operation we do not know)."""
        self.kept: list[float] = []

    def fact(self) -> facts.Accumulation:
        usual, regular = self.counts.most_common(1)[0]
        return facts.Accumulation(
            loss=self.loss,
            optimizer=self.optimizer,
            steps=sum(self.counts.values()),
            backwards=usual,
            regular=regular,
            retained=self.retained,
            rows=self.rows,
            scale=median(self.scales) if self.scales and not self.unknown else None,
            kept=median(self.kept) if self.kept else None,
        )


class AccumulationWatch(Observer):
    """Counts backward passes of one loss, called from one place, between two steps."""

    name = "accumulation"
    sees = "gradient accumulation"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.entries: dict[tuple[int, int], Entry] = {}
        self.before_scaling: tuple[int, float | None] | None = None
        """What a gradient scaler was given: the result's identity, and the scale of the loss itself."""
        self._begin()

    def _begin(self) -> None:
        self.sites: dict[int, int] = {}
        """Backward passes of each loss since the last step."""
        self.callers: set[Any] = set()
        self.reached: set[int] = set()
        """What each backward of this step reached, as a hash of its leaves: losses of different heads reach different ones."""
        self.retained = 0
        self.rows: int | None = None
        self.scales: list[float | None] = []
        self.norms: dict[int, float] = {}

    @property
    def _settled(self) -> bool:
        """No loss was ever accumulated, and each was looked at often enough."""
        return bool(self.entries) and all(len(e.scales) + e.unknown >= LOOKS and set(e.counts) == {1} for e in self.entries.values())

    def scaled(self, _: Any, loss: torch.Tensor, result: torch.Tensor) -> None:
        if self.session.sampled:
            self.before_scaling = (id(result), mean_scale(loss))

    def forward_begins(self, call: ForwardCall) -> None:
        if call.grad and self.session.sampled:
            first = next((a for a in call.args if isinstance(a, torch.Tensor)), None)
            if first is not None and first.dim():
                self.rows = int(first.shape[0])

    def backward_called(self, loss: torch.Tensor, site: Site, gradient: Any, retain: Any) -> None:
        self.sites[site.index] = self.sites.get(site.index, 0) + 1
        self.retained += bool(retain)
        if not self.session.sampled or self._settled:
            return
        self.callers.add(_callers())
        if len(self.scales) < BACKWARDS:
            self.reached.add(hash(frozenset(leaves_of(loss.grad_fn))))
        if gradient is not None:
            self.scales.append(None)
        elif self.before_scaling is not None and self.before_scaling[0] == id(loss):
            self.scales.append(self.before_scaling[1])
        else:
            self.scales.append(mean_scale(loss))
        self.before_scaling = None

    def backward_ends(self, _: torch.Tensor) -> None:
        if self.session.sampled and self.session.since_step >= 2:
            for entry in self.session.registry.optimizers[:TENSORS]:
                if (optimizer := entry.ref()) is not None:
                    self.norms[entry.index] = _norm(optimizer)

    def step_begins(self, optimizer: torch.optim.Optimizer, key: Any, closure: bool) -> None:
        if closure or not self.sites:
            self._begin()
            return
        index = self.session.registry.optimizer(optimizer).index
        if len(self.sites) == 1 and len(self.callers) <= 1 and len(self.reached) <= 1:
            ((loss, count),) = self.sites.items()
            entry = self.entries.get((loss, index))
            if entry is None:
                entry = self.entries[loss, index] = Entry(loss, index)
            entry.counts[count] += 1
            entry.retained += self.retained
            entry.rows = self.rows if self.rows is not None else entry.rows
            if len(entry.scales) + entry.unknown < LOOKS:
                entry.scales += [s for s in self.scales if s is not None]
                entry.unknown += sum(s is None for s in self.scales)
            before = self.norms.get(index, 0.0)
            if before > 0 and len(entry.kept) < LOOKS:
                entry.kept.append(_norm(optimizer) / before)
        self._begin()

    def woke(self) -> None:
        self._begin()

    def report(self) -> None:
        known = [e.fact() for e in self.entries.values() if e.counts]
        self.session.writer.fact("accumulations", [f for f in known if f.backwards >= 2][:16])


def _norm(optimizer: torch.optim.Optimizer) -> float:
    found = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    return total_norm(gradient_norms(found[:TENSORS]))


def _callers() -> tuple[Any, ...]:
    """The user's lines that led here: one helper may be called for several losses, from several lines."""
    frame = user_frame()
    found: list[Any] = []
    while frame is not None and len(found) < STACK:
        if kind_of(frame.f_code) == USER:
            found.append(key_of(frame))
        frame = frame.f_back
    return tuple(found)
