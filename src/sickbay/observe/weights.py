"""Every weight as training found it: its scale, whether its units differ from each other, whether they ever come to.

Taken once, at the first backward pass that a weight is known at, from whole small tensors and an even sample of large ones.
Weights whose units were all alike are looked at again with each report: units that move and stay alike are one unit.
"""

from __future__ import annotations

import math
import weakref
from dataclasses import replace
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from sickbay import facts
from sickbay.observe.inits import tail, watch_inits
from sickbay.observe.observer import LossCall, Observer, Site
from sickbay.observe.places import place_of
from sickbay.observe.readers.linear_chains import MAPS
from sickbay.observe.registry import ParameterEntry
from sickbay.observe.trace import Node

if TYPE_CHECKING:
    from sickbay.observe.session import Session

Array = NDArray[np.float32]

ROWS, COLUMNS = 64, 256
"""At most this much of a weight is looked at: enough for its scale to two digits, and to see that rows are the same."""
MOST_WEIGHTS = 2000
MOST_ALIKE = 64
"""Weights that are compared again; their first values are kept."""
FIRST_LOOK = 16
FIRST_STEPS = 2
"""A tensor outside any module is met on the second or third step."""
SAMPLES = 64
TOGETHER = 1e-3
"""Units are told apart when they differ by a thousandth of the way they moved: rounding alone makes them differ by a millionth."""


class WeightWatch(Observer):
    """Looks at weights before the first update; knows who filled them."""

    name = "weights"
    sees = "the initial weights: their scale and whether units differ"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.known = 0
        self.looked = FIRST_LOOK // 2
        self.facts: dict[int, tuple[weakref.ref[torch.Tensor], facts.Weight]] = {}
        self.first: dict[int, Array] = {}
        """The first values of weights that are looked at again, by id."""
        self.by_tail: dict[tuple[float, ...], int] = {}
        self.twins: dict[int, int] = {}
        self.losses: dict[str, facts.FirstLoss] = {}
        self.signals: dict[int, float] = {}
        watch_inits(session, session.patches)
        session.on_output.append(self.passed)

    def initialised(self, tensor: torch.Tensor, function: str, key: Any, by_user: bool) -> None:
        self.session.registry.inits.filled(tensor, function, key, by_user)

    # -- the first look -----------------------------------------------------------------------------------------

    def loss_called(self, call: LossCall | None) -> None:
        if call is None or not call.grad or call.function in self.losses or self.session.optimizer_steps or len(self.losses) >= 4:
            return
        self.losses[call.function] = _first_loss(call, self.session.step)

    def passed(self, node: Node, output: torch.Tensor) -> None:
        """What a weight gives on the first steps: how much of the input is left in it."""
        if self.session.step > FIRST_STEPS or node.name not in MAPS or not node.grad:
            return
        weight = next((t for t in node.sources if t.dim() >= 2 and t.requires_grad), None)
        if weight is not None and id(weight) not in self.signals and output.dim() >= 2 and _is_weight(output):
            self.signals[id(weight)] = _signal(output.detach(), node.name)

    def backward_begins(self, _: torch.Tensor, site: Site) -> None:
        registry = self.session.registry
        if len(registry.parameters) == self.known:
            return
        self.known = len(registry.parameters)
        started = self.session.clock()
        built = self._built()
        for tensor, entry in registry.entries():
            if len(self.facts) < MOST_WEIGHTS and not self._seen(tensor) and _is_weight(tensor):
                self._look(tensor, entry, built.get(id(tensor)))
        self.session.sample_seconds += self.session.clock() - started

    def _seen(self, tensor: torch.Tensor) -> bool:
        found = self.facts.get(id(tensor))
        return found is not None and found[0]() is tensor

    def _built(self) -> dict[int, tuple[CodeType, int]]:
        """The lines on which the layers of all known parameters were made."""
        registry = self.session.registry
        keys: dict[int, tuple[CodeType, int]] = {}
        for root, _ in registry.root_modules():
            for module in root.modules():
                if (key := registry.built_at(module)) is not None:
                    for p in module.parameters(recurse=False):
                        keys.setdefault(id(p), key)  # a tied weight is its first owner's
        return keys

    def _look(self, tensor: torch.Tensor, entry: ParameterEntry, built: tuple[CodeType, int] | None) -> None:
        block = _block(tensor)
        if not np.isfinite(block).all():
            return
        inits = self.session.registry.inits
        fill, frozen = inits.newest(tensor), inits.frozen_at(tensor)
        drew = inits.drew(tensor)
        fill = fill or drew
        distinct = _distinct(block), _distinct(block.T)
        self.facts[id(tensor)] = (
            weakref.ref(tensor),
            facts.Weight(
                name=entry.name,
                shape=tuple(tensor.shape),
                layer_kind=entry.kind,
                step=self.session.step,
                trainable=tensor.requires_grad,
                mean=float(block.mean(dtype=np.float64)),
                rms=math.sqrt(float(np.mean(block.astype(np.float64) ** 2))),
                looked_at=(block.shape[0], block.shape[1]),
                distinct=distinct,
                drawn=drew is not None,
                set_by=fill.function if fill is not None else "",
                set_at=place_of(*fill.key) if fill is not None and fill.key is not None else None,
                set_by_user=fill is not None and fill.by_user,
                built_at=place_of(*built) if built is not None else None,
                frozen_at=place_of(*frozen) if frozen is not None else None,
            ),
        )
        self._keep(tensor, block, distinct)

    def _keep(self, tensor: torch.Tensor, block: Array, distinct: tuple[int, int]) -> None:
        """Remember the first values of weights that are to be looked at again."""
        if not tensor.requires_grad or len(self.first) >= MOST_ALIKE:
            return
        if any(n > 1 and d <= n // 2 for n, d in zip(block.shape, distinct, strict=True)):
            self.first[id(tensor)] = block.copy()
            return
        numbers = tail(tensor)
        if numbers is None:
            return
        other = self.by_tail.setdefault(numbers, id(tensor))
        begun = self.facts[other][1]  # what first trains later is another run of the same experiment, from the same seed
        if other != id(tensor) and (begun.shape, begun.step) == (tuple(tensor.shape), self.session.step):
            self.twins[id(tensor)] = other
            self.first[id(tensor)] = block.copy()

    # -- later looks --------------------------------------------------------------------------------------------

    def step_closed(self, step: int) -> None:
        """The model may be gone before the last report: look at steps that are twice as far each time, too."""
        if self.session.sampled and self.first and step >= 2 * self.looked:
            started = self.session.clock()
            self.looked = max(step, FIRST_LOOK)
            self._look_again()
            self.session.sample_seconds += self.session.clock() - started

    def _look_again(self) -> None:
        for key, first in self.first.items():
            ref, fact = self.facts[key]
            if (tensor := ref()) is not None:
                self.facts[key] = (ref, self._again(tensor, first, fact, self.twins.get(key)))

    def report(self) -> None:
        self._look_again()
        registry = self.session.registry
        for key, (ref, fact) in self.facts.items():
            tensor = ref()
            entry = registry.entry(tensor) if tensor is not None else None
            if entry is not None:
                before, behind = key in registry.feeding_trained, key in registry.fed_by_trained
                signal = self.signals.get(key)
                self.facts[key] = (ref, replace(fact, name=entry.name, signal=signal, feeds_trained=before, fed_by_trained=behind))
            for place in (fact.set_at, fact.built_at, fact.frozen_at):
                self.session.keep_source(place)
        if self.facts:
            self.session.writer.fact("weights", [fact for _, fact in self.facts.values()])
        if self.losses:
            self.session.writer.fact("first_losses", list(self.losses.values()))

    def _again(self, tensor: torch.Tensor, first: Array, fact: facts.Weight, twin: int | None) -> facts.Weight:
        now = _block(tensor)
        if now.shape != first.shape or not np.isfinite(now).all():
            return fact
        moved = float(np.sqrt(np.mean((now.astype(np.float64) - first) ** 2)))
        fact = replace(fact, later_step=self.session.step, moved=moved > 0)
        if twin is None:
            return replace(fact, distinct_later=(_apart(now, TOGETHER * moved), _apart(now.T, TOGETHER * moved)))
        ref, other = self.facts[twin]
        if (tensor_of_other := ref()) is None:
            return fact
        apart = float(np.sqrt(np.mean((now.astype(np.float64) - _block(tensor_of_other)) ** 2)))
        if fact.twin_later is False or not (moved or apart):
            return fact  # they came apart once (one was trained after the other, the same way), or nothing has moved yet
        return replace(fact, twin=other.name, twin_later=apart <= TOGETHER * moved)


def _is_weight(tensor: torch.Tensor) -> bool:
    plain = tensor.layout == torch.strided and not tensor.is_meta and tensor.is_floating_point()
    return plain and tensor.dim() >= 2 and tensor.numel() > 1


def _block(tensor: torch.Tensor) -> Array:
    """At most ROWS x COLUMNS of a weight, evenly spread, first axis first."""
    rows = tensor.detach()[:: max(1, -(-tensor.shape[0] // ROWS))].flatten(1)
    part = rows[:, :: max(1, -(-rows.shape[1] // COLUMNS))]
    return np.array(part.float().cpu().numpy(), dtype=np.float32) + np.float32(0.0)  # -0.0 and 0.0 are the same value


def _distinct(rows: Array) -> int:
    if len(set(rows[:, 0].tolist())) == len(rows):
        return len(rows)  # as nearly all weights are: seen from the first column alone
    return len({row.tobytes() for row in np.ascontiguousarray(rows)})


def _apart(rows: Array, distance: float) -> int:
    """How many groups of rows are further apart than `distance` (root mean square), seen from one fixed direction."""
    count = rows.shape[1]
    direction = np.cos(np.arange(count) * 2.3999632) * math.sqrt(2 / count)  # steps by the golden angle: no row of weights looks like it
    seen = np.sort(rows.astype(np.float64) @ direction)
    rounding = 1e-9 * float(np.abs(seen).max())
    return 1 + int((np.diff(seen) > max(distance, rounding)).sum())


def _signal(output: torch.Tensor, op: str) -> float:
    rows = output[:SAMPLES].movedim(1, -1) if op.startswith("conv") else output[:SAMPLES]
    units = rows.reshape(-1, rows.shape[-1]).float()
    return _finite(float(units.var(dim=0, unbiased=False).mean().sqrt()))


def _first_loss(call: LossCall, step: int) -> facts.FirstLoss:
    prediction, target = call.input.detach(), call.target.detach() if call.target is not None else None
    numbers = target.float() if target is not None and target.is_floating_point() else None
    return facts.FirstLoss(
        function=call.function,
        value=_finite(float(call.output.detach().float().mean())),
        prediction_rms=_finite(_rms(prediction)),
        target_rms=_finite(_rms(numbers)) if numbers is not None and numbers.numel() else 0.0,
        step=step,
    )


def _rms(tensor: torch.Tensor) -> float:
    """The root of the mean square, in single precision at least: half precision would overflow."""
    if not tensor.is_floating_point():
        return 0.0
    return float(torch.linalg.vector_norm(tensor, dtype=torch.promote_types(tensor.dtype, torch.float32))) / math.sqrt(max(tensor.numel(), 1))


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0
