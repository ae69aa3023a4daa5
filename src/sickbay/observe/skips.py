"""Training steps and gradients that are left out because they are not finite.

`if torch.isnan(loss): continue` leaves no trace in the loss curve. What shows is a loss that was computed and never
differentiated, a gradient norm after which no step follows, a `nan_to_num` on a gradient.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from sickbay import facts
from sickbay.observe.observer import ForwardCall, LossCall, Observer
from sickbay.observe.places import expression_of, key_here, place_of

if TYPE_CHECKING:
    from sickbay.observe.session import Session

HABIT = 3
"""So many backward passes with exactly one forward pass each make a habit: after that, a second forward pass means that a step was left out."""
_GUARDS = frozenset({"nan_to_num", "nan_to_num_", "isnan", "isfinite", "isinf"})


class SkipWatch(Observer):
    """Counts what was computed and then not used."""

    name = "skips"
    sees = "training steps that are left out because a value is not finite"
    takes = ("forward",)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.found: dict[tuple[str, Any], facts.Masked] = {}
        self.waiting: dict[Any, bool] = {}
        """Training losses since the last backward, by place: whether they were not finite."""
        self.losses: dict[Any, int] = {}
        self.forwards: dict[Any, int] = {}
        self.habit: dict[Any, int] = {}
        self.norm: tuple[Any, bool] | None = None
        self.norms = 0
        self.door: tuple[Any, ...] = ()
        """What entered the model last, until its backward."""
        self.origin = ""
        self.scaler = False
        self.first_node = 0
        """Of those that were traced after the newest backward."""
        self.gradients: set[int] = set()

    # -- a loss without a backward -------------------------------------------------------------------------------

    def loss_called(self, call: LossCall | None) -> None:
        if call is None or not call.grad or not self.session.train_mode or not call.output.is_cpu or call.output.numel() != 1:
            return
        key = key_here()
        self._left_out(key)
        self.losses[key] = self.losses.get(key, 0) + 1
        bad = self.waiting[key] = not math.isfinite(call.output.item())
        if bad and not self.origin:
            self.origin = self._origin(call)

    def _origin(self, call: LossCall) -> str:
        """Whether the weights were broken already, the data were, or an operation made it from finite values."""
        if any(_broken(t) for t, _ in self.session.registry.entries()):
            return "parameter"
        return "data" if any(isinstance(x, torch.Tensor) and _broken(x) for x in (*self.door, call.target)) else "operation"

    def _left_out(self, key: Any) -> None:
        """The same loss comes again and the last one got no backward."""
        if self.waiting.pop(key, False):
            self._count("skipped", key, self.losses.get(key, 0), "loss", self.origin)

    def loss_known(self, *_: Any) -> None:
        """On a step that is slept through only losses that are not finite are told of: is this the one, or was it left out?"""
        if not self.awake and self.waiting:
            if self.session.loss_finite:
                for key in list(self.waiting):
                    self._left_out(key)
            self.waiting.clear()

    def forward_begins(self, call: ForwardCall) -> None:
        if not call.grad or not call.module.training or call.place_key is None:
            return
        self.door = call.args
        key = call.place_key
        if self.forwards.get(key) and self.habit.get(key, 0) >= HABIT and not self.waiting:
            self._count("skipped", key, self.habit[key], "forward", "unknown")
        self.forwards[key] = self.forwards.get(key, 0) + 1

    def backward_begins(self, *_: Any) -> None:
        self.waiting.clear()
        self.door = ()
        for key, count in self.forwards.items():
            seen = self.habit.get(key, 0)
            self.habit[key] = seen + 1 if count == 1 and seen >= 0 else seen if seen >= HABIT else -1
        self.forwards.clear()
        if self.norm is not None and self.norm[1] and not self.scaler:
            self._count("dropped", self.norm[0], self.norms, "clip", "operation")
        self.norm = None
        self.first_node = len(self.session.trace.nodes) if self.session.trace is not None else 0

    def woke(self) -> None:
        self.waiting.clear()
        self.forwards.clear()
        self.norm = None

    # -- a gradient without a step -------------------------------------------------------------------------------

    def scaled(self, *_: Any) -> None:
        self.scaler = True  # GradScaler leaves out steps on purpose

    def clipped(self, _: str, limit: Any, norm: Any, key: Any) -> None:
        if isinstance(norm, torch.Tensor) and norm.is_cpu and norm.numel() == 1:
            self.norms += 1
            self.norm = (key, not math.isfinite(norm.item()))

    def backward_ends(self, _: Any) -> None:
        """Where gradients are known to be mended: were they broken?"""
        followed = self.session.trace is not None and bool(self.session.trace.nodes)
        self.gradients = {id(t.grad) for t, _ in self.session.registry.entries() if t.grad is not None} if followed else set()
        mended = [key for key in self.found if key[0] == "gradient"]
        if not mended or not self.session.measure_norm:
            return
        gradients = [t.grad for t, _ in self.session.registry.entries() if t.grad is not None]
        broken = any(_broken(g) for g in gradients)
        for key in mended:
            known = replace(self.found[key], looks=self.found[key].looks + 1)
            self.found[key] = self._one_more(known) if broken else known

    def step_begins(self, *_: Any) -> None:
        self.norm = None
        trace = self.session.trace
        if trace is None or not self.session.sampled:
            return
        for node in trace.nodes[self.first_node :]:
            sources = [s for s in node.sources if id(s) in self.gradients] if node.name in _GUARDS and node.key is not None else []
            key = ("gradient", node.key)
            if sources and node.key is not None and key not in self.found:
                known = facts.Masked(way="gradient", op=node.name, place=place_of(*node.key), call=expression_of(*node.key), looks=1)
                self.found[key] = self._one_more(known) if any(_broken(s) for s in sources) else known

    # -- telling -------------------------------------------------------------------------------------------------

    def _count(self, way: str, key: Any, looks: int, op: str, origin: str) -> None:
        known = self.found.get((way, key))
        if known is None:
            if len(self.found) >= 16:
                return
            known = facts.Masked(way=way, op=op, origin=origin)
            if key is not None:
                known = replace(known, place=place_of(*key), call=expression_of(*key))
        self.found[(way, key)] = self._one_more(replace(known, looks=looks))

    def _one_more(self, known: facts.Masked) -> facts.Masked:
        step = self.session.step
        return replace(known, times=known.times + 1, first=known.first if known.times else step, last=step)

    def finish(self) -> None:
        for key in list(self.waiting):
            if self.session.backwards or self.losses.get(key, 0) > 1:
                self._left_out(key)

    def report(self) -> None:
        found = [m for m in self.found.values() if m.times or m.way == "gradient"]
        for m in found:
            self.session.keep_source(m.place)
        self.session.writer.fact("masked", found)


def _broken(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() and tensor.layout == torch.strided and not tensor.is_meta and not bool(torch.isfinite(tensor.detach()).all())
