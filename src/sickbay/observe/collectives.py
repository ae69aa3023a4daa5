"""Collectives that the script calls, by what they are given: gradients, weights, something inside a forward pass, something else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from sickbay.nouns import Place
from sickbay.observe.places import place_of
from sickbay.observe.rank_rows import tensors_in

if TYPE_CHECKING:
    from sickbay.observe.session import Session

CLOSELY = 64
"""First steps on which it is looked up what a collective is given; later only on sampled ones."""
MOST_OF_ALL = 0.5
"""Of all weights: so many numbers at once are all gradients or weights in one row."""
WAITS = ("barrier", "monitored_barrier")
FIRST_LOOKS = 4


class Collectives:
    """Counts them, and knows when weights may have been brought together again."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.counts: dict[str, int] = {}
        self.places: dict[str, Place | None] = {}
        self.seconds = 0.0
        self._known: tuple[int, dict[int, str], int] = (-1, {}, 0)
        """Where gradients and weights lie in memory at a step, and how many weights there are."""
        self._talked = False
        self._looks = 0

    def add(self, name: str, given: tuple[Any, ...], key: Any, seconds: float) -> None:
        inside = bool(self.session.registry.stack) or torch._C._current_graph_task_id() != -1
        if not inside:
            self.seconds += seconds
        if name in WAITS:
            return
        role = "forward" if inside else self._role(given)
        self.counts[role] = self.counts.get(role, 0) + 1
        if role not in self.places:
            self.places[role] = place_of(*key) if key else None
        self._talked = self._talked or not inside

    def _role(self, given: tuple[Any, ...]) -> str:
        session = self.session
        if not session.backwards:
            return "first weights"  # what else would be sent before training begins?
        if session.step >= CLOSELY and not session.sampled:
            return max((r for r in self.counts if r != "forward"), key=self.counts.__getitem__, default="other")
        places, total = self._lie()
        tensors = [t for t, _ in zip(tensors_in(list(given)), range(64), strict=False)]
        roles = {places.get(t.data_ptr()) for t in tensors if t.layout == torch.strided and not t.is_meta and t.numel()}
        if "gradients" in roles:
            return "gradients" if session.since_step else "late gradients"
        if "weights" in roles:
            return "weights"
        if total > 1 and sum(t.numel() for t in tensors) >= max(MOST_OF_ALL * total, 2):
            return "gradients" if session.since_step else "weights"
        return "other"

    def _lie(self) -> tuple[dict[int, str], int]:
        step = self.session.backwards  # gradients are made anew with each backward pass
        if self._known[0] != step:
            places: dict[int, str] = {}
            total = 0
            for tensor, _ in self.session.registry.entries():
                if (
                    tensor.layout == torch.strided
                    and not tensor.is_meta
                    and type(tensor) in (torch.Tensor, torch.nn.Parameter)
                    and tensor.requires_grad
                ):
                    places[tensor.data_ptr()] = "weights"
                    total += tensor.numel()
                    if tensor.grad is not None and tensor.grad.layout == torch.strided:
                        places[tensor.grad.data_ptr()] = "gradients"
            self._known = (step, places, total)
        return self._known[1], self._known[2]

    def worth_a_look(self) -> bool:
        """Ranks have talked since the last step: they may have averaged their weights. True now and then: all ranks take part in a collective, so all look at the same step."""
        talked, self._talked = self._talked, False
        self._looks += talked
        return talked and (self._looks <= FIRST_LOOKS or self._looks & (self._looks - 1) == 0)

    def take_seconds(self) -> float:
        seconds, self.seconds = self.seconds, 0.0
        return seconds
