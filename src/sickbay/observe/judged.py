"""Evaluations that a script judges by itself, without a loss function: how many answers are right, or how far they are off.

Where a loader gave the batch and training has shown which of its tensors is the target, the model's output tells; else the script's own comparison does (see
comparing.py). What is found is told to `LossWatch`, which knows all evaluations. Where training gives the model's own output to a cross-entropy, outputs are logits: then those of
the newest batch are held until the comparison with its labels, and told to `ExampleWatch`, which asks how sure the model is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from sickbay.observe.batch_targets import BatchTargets
from sickbay.observe.comparing import Comparing, Comparison
from sickbay.observe.examples import ExampleWatch
from sickbay.observe.examples.scores import copied
from sickbay.observe.numbers import Array
from sickbay.observe.observer import ForwardCall, LossCall, Observer
from sickbay.observe.samples import caller_of
from sickbay.observe.scored import Scored, ScoredSets

if TYPE_CHECKING:
    from sickbay.observe.session import Session

FRUITLESS = 4
"""Passes of one place after which nothing was compared: then it is followed no more."""
MOST_PLACES = 64
LOGITS = {"cross_entropy"}
"""...and the one that takes the logits of several classes."""
DIRECT = {"mse_loss": "squares", "l1_loss": "absolute"}
"""Losses whose value a difference tells."""


@dataclass(slots=True)
class HandPass:
    """What is known of one evaluation since training went on."""

    right: float = 0.0
    judged: int = 0
    loss: float = 0.0
    weight: int = 0

    def add(self, right: float, count: int) -> None:
        self.right += right
        self.judged += count

    def add_loss(self, loss: float, rows: int) -> None:
        self.loss += loss * rows
        self.weight += rows


class JudgedWatch(Observer):
    """Keeps, of every evaluation since the last training step, what was judged by hand."""

    name = "judged"
    sees = "evaluations that are judged by hand"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.comparing = Comparing(session, self._compared)
        self.targets = BatchTargets()
        self.passes: dict[Any, HandPass] = {}
        self.key: Any = None
        """Of the newest forward pass outside training: its line, the line that called the function around it, the loader."""
        self.scored = ScoredSets(session)
        self.unsure: tuple[Any, Scored | None, int, int] | None = None
        """Answers to the newest batch; a training step that is made of the same batch would make them a part of it."""
        self.loaded = False
        """A loader gave a batch that no training step has used."""
        self.fruitless: dict[Any, int] = {}
        self.followed: set[Any] = set()
        """Places that were followed since the last training step,"""
        self.fruitful: set[Any] = set()
        """...and those where something was compared."""
        self.several: set[Any] = set()
        """Places that call a model more than once for a batch: what is judged is none of the outputs alone."""
        self.left_alone = False
        """Operations are not followed in this run: it compiles code, or calls models from ever new places."""
        self.output = 0
        """Where the newest training output lies in memory."""
        self.logits: Array | None = None
        """The newest output outside training, where it is known to be logits."""
        self.functions: set[str] = set()
        """Losses that training computes from the model's own output; "" if it also computes others."""

    # -- training -----------------------------------------------------------------------------------------------

    def loss_called(self, call: LossCall | None) -> None:
        if call is None or not call.grad:
            return
        self.unsure = None
        if self.session.train_mode or not self.functions:
            direct = call.input.data_ptr() == self.output and call.options.get("reduction", "mean") == "mean"
            self.functions.add(call.function if direct else "")
            if call.target is not None and (call.target.is_cpu or self.session.sampled):
                self.targets.learn(call)

    def loss_known(self, *_: Any) -> None:
        self.unsure = None
        self._close_places()
        self.leave()
        self.comparing.forget()

    def _close_places(self) -> None:
        for place in self.followed:
            self.fruitless[place] = 0 if place in self.fruitful else self.fruitless.get(place, 0) + 1
        if len(self.fruitless) > MOST_PLACES:
            self.left_alone = True
        self.followed, self.fruitful = set(), set()

    def stepped(self, *_: Any) -> None:
        self.loaded = False
        self.leave()

    napped = stepped

    # -- evaluation ---------------------------------------------------------------------------------------------

    def forward_begins(self, call: ForwardCall) -> None:
        self.leave()
        if call.grad and call.module.training:
            self.targets.fresh = False
        else:
            self.key = (call.place_key, caller_of(3), self.session.loader if self.loaded else None)
            self.scored.forward(call, *self.key[1:])

    def forward_ends(self, call: ForwardCall, output: Any) -> None:
        if call.grad:
            self.output = output.data_ptr() if isinstance(output, torch.Tensor) and output.layout == torch.strided else 0
            if call.module.training or self.session.train_mode:
                return
        fresh, self.targets.fresh = self.targets.fresh, False
        if not fresh and self.unsure is not None:
            self.several.add(call.place_key)
            self.unsure = None
        if not isinstance(output, torch.Tensor) or output.layout != torch.strided or not (output.is_cpu or self.session.sampled):
            return
        if fresh and not call.grad and call.place_key not in self.several and (found := self.targets.right(output)) is not None:
            self.unsure = (self.key, self.scored.newest, *found)
        elif not self.left_alone and self.fruitless.get(call.place_key, 0) < FRUITLESS:
            self.followed.add(call.place_key)
            self.comparing.numbers = len(self.functions) == 1 and not self.functions.isdisjoint(DIRECT)
            if self.comparing.begin(output):
                self.session.comparing = self.comparing
                self.logits = copied(output) if self.functions == LOGITS else None

    def _compared(self, found: Comparison) -> None:
        if self.key is None:
            return
        self.fruitful.add(self.key[0])
        into = self.passes.setdefault((*self.key, found.part), HandPass())
        if found.right == found.right:
            into.add(found.right, found.judged)
            self._score(found)
            if not found.part:
                self.scored.answers(self.scored.newest, found.right, found.judged)
        else:
            measure = DIRECT[next(iter(self.functions))]
            into.add_loss(getattr(found, measure), found.judged)
            self.scored.loss(getattr(found, measure), found.judged, None)

    def _score(self, found: Comparison) -> None:
        """Logits and labels of the same rows, if the likeliest classes are the answers that were compared."""
        logits, labels, self.logits = self.logits, found.labels, None
        if logits is None or labels is None or found.part or labels.is_floating_point() or not labels.is_cpu or labels.numel() != len(logits):
            return
        classes = labels.detach().reshape(-1).numpy().copy()
        examples = next((o for o in self.session.observers if isinstance(o, ExampleWatch)), None)
        if examples is not None and int((logits.argmax(1) == classes).sum()) == found.right:
            examples.scores.take(self.key[:2], self.session.step, logits, classes, by_hand=True)

    def _commit(self) -> None:
        if self.unsure is not None:
            key, scored, right, count = self.unsure
            self.unsure = None
            self.scored.answers(scored, right, count)
            self.passes.setdefault((*key, 0), HandPass()).add(right, count)

    def batch_loaded(self, _: Any, batch: Any, seconds: float) -> None:
        self._commit()
        self.leave()
        self.targets.load(batch)
        self.loaded = True

    def loader_started(self, *_: Any) -> None:
        self._commit()
        self.leave()  # workers that are forked now must not inherit an open mode

    def mode_set(self, _: Any, mode: bool, place: Any) -> None:
        self._commit()
        self.leave()

    def compiled(self, _: Any) -> None:
        self.left_alone = True  # compiled code is compiled anew under an open mode
        self.leave()

    def finish(self) -> None:
        self._commit()
        self.leave()

    def leave(self) -> None:
        self.logits = None
        self.comparing.leave()
        if not self.comparing.entered:
            self.session.comparing = None

    def report(self) -> None:
        self.session.writer.fact("scored", self.scored.told())

    def take(self) -> dict[Any, HandPass]:
        """What was judged since training went on; it begins anew."""
        self._commit()
        taken, self.passes = self.passes, {}
        return taken
