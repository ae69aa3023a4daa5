"""How well the model did on each set of samples that it was evaluated on, pass by pass, wherever the script evaluates it.

A script may evaluate one set on several lines (before and after fine-tuning), and several sets on one line (a loop over tasks). Sets are known by their loader; where
there is none, by numbers of their first row (slices that follow one another are one set). Only sums are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from sickbay import facts
from sickbay.nouns import Place
from sickbay.observe.observer import ForwardCall
from sickbay.observe.places import place_of

if TYPE_CHECKING:
    from sickbay.observe.session import Session

MOST_SETS = 32
FEW_NUMBERS = 16
"""Of a first row, by which a set is known in memory."""
MOST_PASSES = 128
"""Of each set; then every other one is dropped."""


@dataclass(slots=True)
class Pass:
    step: int
    right: float = 0.0
    judged: int = 0
    by_hand: float = 0.0
    judged_by_hand: int = 0
    loss: float = 0.0
    weight: int = 0


@dataclass(slots=True)
class Scored:
    """One set of samples."""

    loader: int | None
    place: Any
    caller: Any
    passes: list[Pass] = field(default_factory=list)

    def at(self, step: int) -> Pass:
        if not self.passes or self.passes[-1].step != step:
            if len(self.passes) >= MOST_PASSES:
                self.passes = self.passes[::2]
            self.passes.append(Pass(step))
        return self.passes[-1]


class ScoredSets:
    """All sets that were evaluated."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.sets: dict[Any, Scored] = {}
        self.newest: Scored | None = None
        """The set that the newest forward pass outside training belongs to."""
        self._next: tuple[int, int, Any] | None = None
        """The memory and the place in it at which the next slice of the newest set would begin."""

    def forward(self, call: ForwardCall, caller: Any, loader: int | None) -> None:
        """A forward pass outside training begins."""
        self.newest = None
        name = ("loader", loader) if loader is not None else self._name(call)
        if name is None:
            return
        found = self.sets.get(name)
        if found is None and len(self.sets) < MOST_SETS:
            found = self.sets[name] = Scored(loader, call.place_key, caller)
        self.newest = found

    def _name(self, call: ForwardCall) -> Any:
        x = next((a for a in (*call.args, *call.kwargs.values()) if isinstance(a, torch.Tensor)), None)
        if x is None or not x.is_cpu or x.layout != torch.strided or x.dim() < 1 or not x.numel():
            return None
        memory, begins = x.untyped_storage().data_ptr(), int(x.storage_offset())
        goes_on = self._next is not None and self._next[:2] == (memory, begins) and begins > 0
        name = self._next[2] if goes_on and self._next is not None else (x.shape[1:], *_first_numbers(x))
        self._next = (memory, begins + x.numel(), name)
        return name

    def answers(self, scored: Scored | None, right: float, count: int) -> None:
        """Judged by hand."""
        if scored is not None:
            into = scored.at(self.session.step)
            into.by_hand += right
            into.judged_by_hand += count

    def loss(self, loss: float, samples: int, accuracy: float | None) -> None:
        """A loss function was called on what the newest forward pass gave."""
        if self.newest is not None:
            into = self.newest.at(self.session.step)
            into.loss += loss * samples
            into.weight += samples
            if accuracy is not None:
                into.right += accuracy * samples
                into.judged += samples

    def told(self) -> list[facts.ScoredSet]:
        return [self._fact(s) for s in self.sets.values() if len(s.passes) > 1]

    def _fact(self, s: Scored) -> facts.ScoredSet:
        last = s.passes[-1]
        return facts.ScoredSet(
            loader=s.loader,
            place=self._place(s.place),
            called_from=self._place(s.caller),
            samples=int(last.weight or last.judged_by_hand),
            steps=tuple(p.step for p in s.passes),
            accuracy=tuple(_share(p) for p in s.passes),
            loss=tuple(p.loss / p.weight if p.weight else None for p in s.passes),
        )

    def _place(self, line: Any) -> Place | None:
        return self.session.keep_source(place_of(*line)) if line is not None else None


def _first_numbers(x: torch.Tensor) -> list[float]:
    """A few numbers of the first row, evenly spread."""
    row = x.detach()[0].reshape(-1)
    return row[:: -(-len(row) // FEW_NUMBERS)].tolist()


def _share(p: Pass) -> float | None:
    right, judged = (p.right, p.judged) if p.judged else (p.by_hand, p.judged_by_hand)
    return right / judged if judged else None
