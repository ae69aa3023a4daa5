"""Whether training went over to other samples: which rows the steps of one stretch of training share with those before it.

On the first steps of each stretch and on sampled ones, the rows of the batch are known by their keys (see keys.py), and where they came from by the loader and the
lines that gave them. When facts are written, stretches are told apart: training comes from elsewhere (another loader, another line), or rows that came again and
again give way to rows that were never there. Keys are kept, nothing of the samples themselves.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from itertools import pairwise
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sickbay import facts
from sickbay.nouns import Place
from sickbay.observe.keys import rows_given, whole_row_keys
from sickbay.observe.numbers import Array, among, distinct
from sickbay.observe.observer import ForwardCall, LossCall, Observer
from sickbay.observe.places import place_of
from sickbay.observe.samples import caller_of

if TYPE_CHECKING:
    from sickbay.observe.session import Session

Line = tuple[CodeType, int]
MOST_ROWS = 60_000
FEW_ROWS = 8
"""Of each batch, once so many rows are known."""
MOST_LOOKS = 8192
EVERY_STEPS = 256
"""Steps of each stretch that are looked at, sampled or not."""
FEWEST_LOOKS = 5
AGAIN, NEW = 0.8, 0.2
"""Share of rows that were met before: in stretches that go over the same data again and again, and at the first batches of others."""
MOST_PHASES = 16
MOST_LABELS = 512


@dataclass(slots=True)
class Look:
    """One training step."""

    step: int
    source: tuple[int | None, Line | None, Line | None]
    """The loader, the line that calls the model, the line that calls the function around it."""
    keys: Array
    epoch: int = -1
    labels: frozenset[int] = frozenset()


class PhaseWatch(Observer):
    """Keeps the rows of training steps in their order."""

    name = "phases"
    sees = "whether training goes over to other samples"
    takes = ("inputs",)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.looks: list[Look] = []
        self.rows = 0
        self.parameters: dict[int, weakref.ref[torch.Tensor]] = {}
        """Of what is trained: a model that shares none of them is another one."""
        self.step = -1
        self.loaded = False
        """A loader gave a batch that no training step has used."""
        self.dense_until = EVERY_STEPS
        self.written = 0

    # -- looking ------------------------------------------------------------------------------------------------

    def batch_loaded(self, *_: Any) -> None:
        self.loaded = True

    def stepped(self, *_: Any) -> None:
        self.loaded = self.session.loads_ahead

    napped = stepped

    def forward_begins(self, call: ForwardCall) -> None:
        step = self.session.step
        if not call.grad or not call.module.training or step == self.step or (step >= self.dense_until and not self.session.at_inputs):
            return
        rows = rows_given(call)
        if rows is None or rows.x.requires_grad:
            return
        self.step = step
        self._same_model(call.module)
        source = (self.session.loader if self.loaded else None, call.place_key, caller_of(3))
        if self.looks and source != self.looks[-1].source:
            self._look_often()
        if len(self.looks) < MOST_LOOKS:
            keys = rows.keys if self.rows < MOST_ROWS else whole_row_keys(rows.x[:FEW_ROWS])
            self.looks.append(Look(step, source, keys, self.session.epoch))
            self.rows += len(keys)

    def optimizer_built(self, *_: Any) -> None:
        if self.looks:
            self._look_often()

    def _look_often(self) -> None:
        """A stretch may begin here: on steps of a few milliseconds too few would be looked at to know one."""
        self.dense_until = self.session.step + EVERY_STEPS
        self.session.stay_awake(2 * FEWEST_LOOKS)

    def loss_called(self, call: LossCall | None) -> None:
        if call is None or not call.grad or not self.looks or self.looks[-1].step != self.session.step or self.looks[-1].labels:
            return
        y = call.target
        if y is not None and y.is_cpu and y.dim() == 1 and not y.is_floating_point():
            self.looks[-1].labels = frozenset(y[:MOST_LABELS].tolist())

    def _same_model(self, module: torch.nn.Module) -> None:
        if any((known := self.parameters.get(id(p))) is not None and known() is p for p in module.parameters()):
            return
        if self.parameters and not self._is_copy(module):
            self._begin_again()
        self.parameters |= {id(p): weakref.ref(p) for p in module.parameters()}

    def _is_copy(self, module: torch.nn.Module) -> bool:
        """Of what was trained before: fine-tuning often goes on with a copy."""
        first = next((p for p in module.parameters() if p.numel() > 1), None)
        before = [p for ref in self.parameters.values() if (p := ref()) is not None]
        return first is not None and any(p.shape == first.shape and torch.equal(p, first) for p in before)

    def initialised(self, tensor: torch.Tensor, *_: Any) -> None:
        """A model that is trained already begins anew (another fold, another trial), unless it is only its head."""
        known = self.parameters.get(id(tensor))
        if (
            self.looks
            and known is not None
            and known() is tensor
            and tensor is next((p for r in self.parameters.values() if (p := r()) is not None), None)
        ):
            self._begin_again()

    def _begin_again(self) -> None:
        self.looks, self.rows, self.parameters = [], 0, {}
        self.dense_until = self.session.step + EVERY_STEPS

    # -- facts --------------------------------------------------------------------------------------------------

    def report(self) -> None:
        if len(self.looks) == self.written:
            return
        self.written = len(self.looks)
        begins = stretches(self.looks)
        if len(begins) < 2 or len(begins) > MOST_PHASES:
            self.session.writer.fact("phases", [])
            return
        ends = [*begins[1:], len(self.looks)]
        self.session.writer.fact("phases", [self._fact(first, last) for first, last in zip(begins, ends, strict=True)])

    def _fact(self, first: int, last: int) -> facts.Phase:
        here, before = self.looks[first:last], self.looks[:first]
        own = np.concatenate([look.keys for look in here])
        known = distinct(np.concatenate([look.keys for look in before])) if before else own[:0]
        loader, place, caller = here[0].source
        labels, earlier = (frozenset().union(*(look.labels for look in some)) for some in (here, before))
        return facts.Phase(
            first=here[0].step,
            last=self.looks[last].step - 1 if last < len(self.looks) else max(self.session.step - 1, here[-1].step),
            steps=len(here),
            rows=len(own),
            met=int(among(own, known).sum()),
            recognised=recognised(before),
            labels=len(labels),
            labels_met=len(labels & earlier),
            loader=loader,
            place=self._place(place),
            called_from=self._place(caller),
        )

    def _place(self, line: Line | None) -> Place | None:
        return self.session.keep_source(place_of(*line)) if line is not None else None


def stretches(looks: list[Look]) -> list[int]:
    """Where each stretch begins: where training comes from elsewhere, or its rows are new after they were the same again and again; each lasts for some looks."""
    if not looks:
        return []
    again = met_before(looks)
    begins = [0]
    for i in range(1, len(looks)):
        moved = looks[i].source != looks[i - 1].source
        turned = float(np.mean(again[max(0, i - FEWEST_LOOKS) : i])) > AGAIN and float(np.mean(again[i : i + FEWEST_LOOKS])) < NEW
        if moved or turned:
            if i - begins[-1] >= FEWEST_LOOKS:
                begins.append(i)
            elif len(begins) > 1:
                begins[-1] = i  # too short to be one: steps that take turns
    return begins if len(looks) - begins[-1] >= FEWEST_LOOKS else begins[:-1]


def met_before(looks: list[Look]) -> list[float]:
    """For each look, the share of its rows that an earlier one had."""
    rows = np.concatenate([look.keys for look in looks])
    of = np.repeat(np.arange(len(looks)), [len(look.keys) for look in looks])
    order = np.lexsort((of, rows))
    ordered, owners = rows[order], of[order]
    first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    owner = owners[np.maximum.accumulate(np.where(first, np.arange(len(rows)), 0))]
    met = np.bincount(owners, weights=owner < owners, minlength=len(looks))
    return [float(m) / max(len(look.keys), 1) for m, look in zip(met, looks, strict=True)]


def recognised(looks: list[Look]) -> float:
    """How likely a row of these looks would be known if it came again: the share of the last ones that had come before, or 1 if each step was looked at and
    nothing came a second time. 0 where a loader went through its data again and its rows were others (augmentation)."""
    if not looks:
        return 0.0
    again = met_before(looks)
    late = float(np.mean(again[-max(1, len(again) // 4) :]))
    whole = all(b.step - a.step == 1 for a, b in pairwise(looks))
    if late < NEW and any(a.source == b.source and a.epoch < b.epoch for a, b in pairwise(looks)):
        return 0.0
    return 1.0 if whole else late
