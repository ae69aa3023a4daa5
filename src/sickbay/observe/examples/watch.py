"""Pairs what enters the model with what the loss expects, and keeps a small sample of both until the run ends. It never reaches the disk.

On the first steps and on sampled ones, training's batches are looked at; of each evaluation, the first passes. When the run is over, `study` asks whether
targets follow from inputs, and what it answers is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sickbay.observe.batches import BatchWatch
from sickbay.observe.examples.book import Book
from sickbay.observe.examples.rows import one_row_each, tensors_of
from sickbay.observe.examples.scores import ScoreBook
from sickbay.observe.examples.structure import compared, entering
from sickbay.observe.examples.study import studied
from sickbay.observe.examples.targets import Targets, targets_of
from sickbay.observe.numbers import Array
from sickbay.observe.observer import ForwardCall, LossCall, Observer, Site
from sickbay.observe.parts import indices_in_whole
from sickbay.observe.places import key_here
from sickbay.observe.reading import Reading
from sickbay.observe.samples import EVERY_STEPS, PASSES, caller_of
from sickbay.observe.unreduced import averaged, unreduced

if TYPE_CHECKING:
    from sickbay.observe.session import Session
    from sickbay.observe.trace import Trace

MOST_BOOKS = 4
EVALUATION_ROWS = 1000
IDLE, SELDOM = 8, 8
"""After so many batches without a new sample, one in so many is looked at."""
MOST_BATCHES = 1000
"""Of an evaluation that computes its loss once for all of them."""


@dataclass(slots=True)
class Pair:
    """What was given to a model and the loss that followed it; let go when the step is over."""

    place: Any
    """Where the model is called,"""
    given: tuple[Any, ...]
    """...and with what."""
    target: torch.Tensor
    targets: Targets | None
    aim: Any
    elements: Any = None
    """Of a loss that is computed for each sample: the node that stands for them in autograd's graph. Who weighs samples knows more of them than we do."""


@dataclass(slots=True)
class Unpaired:
    """A call of a loss function before which no module was called."""

    target: torch.Tensor
    targets: Targets | None
    made: int | None
    """The operation that made the prediction,"""
    aim: Any
    """...and where the loss is called."""
    elements: Any = None


class ExampleWatch(Observer):
    """Samples with their targets, for the questions at the end."""

    name = "examples"
    sees = "whether targets follow from inputs (misaligned or noisy labels, leaking columns)"
    takes = ("inputs",)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.training: dict[Any, Book] = {}
        self.unclear: set[Any] = set()
        """Where models and losses are called with targets that are not one for each sample, too."""
        self.evaluations: dict[Any, Book] = {}
        self.door: ForwardCall | None = None
        self.doors = 0
        """Forward passes of raw inputs since the newest loss."""
        self.scores = ScoreBook()
        self.paired: Pair | None = None
        self.unpaired: Unpaired | None = None
        """The newest call of a loss function without a module before it."""
        self.idle = 0
        """Batches in a row that held nothing new."""
        self.several = False
        """This step's loss compares with several targets."""
        self.loaders: set[int] = set()
        """Those that gave a batch since the newest forward pass,"""
        self.given: set[int] = set()
        """...and before it."""
        self.parts: dict[int, Array] = {}
        """For loaders of a part of a data set, the part's indices in the whole,"""
        self.part: Array | None = None
        """...for the newest batch."""
        self.evaluated: list[tuple[Book, Array]] = []
        """What was evaluated since the newest loss without gradients; let go when training goes on."""

    # -- training -----------------------------------------------------------------------------------------------

    @property
    def _looking(self) -> bool:
        session = self.session
        if self.idle >= IDLE:
            return session.at_inputs and session.thorough or (session.step < EVERY_STEPS and session.step % SELDOM == 0)
        return session.at_inputs or session.step < EVERY_STEPS

    def loader_started(self, loader: Any, iterator: Any, *_: Any) -> None:
        self.parts.pop(id(iterator), None)
        if (part := indices_in_whole(getattr(loader, "dataset", None))[0]) is not None:
            self.parts = dict([*self.parts.items()][-MOST_BOOKS:]) | {id(iterator): part}

    def batch_loaded(self, iterator: Any, *_: Any) -> None:
        self.part = self.parts.get(id(iterator))
        if self.session.loader is not None:
            self.loaders.add(self.session.loader)

    def forward_begins(self, call: ForwardCall) -> None:
        self.given, self.loaders = self.loaders or (self.given if call.grad else set()), set()
        if not call.grad:
            self._evaluate(call)
            self.given = set()
        elif self._looking:
            # What no backward followed was an evaluation that forgot no_grad.
            alone = self.paired is not None or self.door is None or self.door.module.training != call.module.training
            self.doors = 1 if alone else self.doors + 1
            self.door, self.paired, self.several = call, None, False

    def loss_called(self, call: LossCall | None) -> None:
        if call is None or call.target is None or not (call.target.is_cpu or self.session.sampled):  # no waiting for a device on other steps
            return
        if not call.grad:
            self.scores.see(call, (key_here(), caller_of(2)), self.session.step)
            self._judge(call)
        elif self.paired is not None:
            self.several |= call.target is not self.paired.target
        elif self.door is not None and self.doors == 1:
            self.paired = Pair(self.door.place_key, _given(self.door), call.target, targets_of(call), key_here(), _elements(call))
        elif self.door is None:
            self.several |= self.unpaired is not None and call.target is not self.unpaired.target
            trace = self._trace
            self.unpaired = Unpaired(call.target, targets_of(call), trace.maker(call.input), key_here(), _elements(call)) if trace is not None else None

    def backward_begins(self, loss: torch.Tensor, site: Site) -> None:
        pair, several, door, unpaired, trace = self.paired, self.several or self.doors > 1, self.door, self.unpaired, self._trace
        self._forget()
        if several or not self._looking:
            return
        started = self.session.clock()
        if pair is None and trace is not None:
            pair = self._structural(Reading(self.session, trace, [], site, loss), door, unpaired)
        if pair is not None and (pair.elements is None or averaged(loss, pair.elements)):
            self._train(pair)
        self.session.sample_seconds += self.session.clock() - started if self.session.sampled else 0.0

    @property
    def _trace(self) -> Trace | None:
        """If every operation of this step was followed."""
        trace = self.session.trace
        return trace if trace is not None and trace.nodes and not trace.outputs_only and not trace.truncated else None

    def _structural(self, reading: Reading, door: ForwardCall | None, unpaired: Unpaired | None) -> Pair | None:
        """What the operations themselves show: of a loss that is written by hand, or of a model that is no module."""
        if unpaired is not None:
            target, targets, made, aim, elements = unpaired.target, unpaired.targets, unpaired.made, unpaired.aim, unpaired.elements
        elif (found := compared(reading)) is not None:
            target, targets, made, aim, elements = found.target, found.targets, found.node.args[found.prediction], found.node.key, None
        else:
            return None
        if targets is None:
            return None
        if door is not None:
            return Pair(door.place_key, _given(door), target, targets, aim, elements)
        self.given, self.loaders = self.loaders, set()
        tensors, place = entering(reading, made, len(targets.values), target)
        if tensors and (batches := self._batches) is not None and not batches.scale.full:
            batches.scale.add(tensors[0])  # no module told it of them
        return Pair(place, tuple(tensors), target, targets, aim, elements) if tensors else None

    def stepped(self, *_: Any) -> None:
        if not self.session.loads_ahead:  # else the newest batch is the next step's
            self.loaders = set()

    napped = stepped

    def woke(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self.door = self.paired = self.unpaired = None
        self.doors, self.several, self.evaluated = 0, False, []

    def _train(self, pair: Pair) -> None:
        if pair.targets is None:
            self.unclear.add((pair.place, pair.aim))
            return
        key = (pair.place, pair.aim, pair.targets.choices)
        book = self.training.get(key)
        if book is None:
            if len(self.training) >= MOST_BOOKS:
                return
            book = self.training[key] = Book()
            book.place, book.aim = pair.place, pair.aim
        size = len(pair.targets.values)
        if tensors := self._inputs(pair.given, size, pair.target):
            book.loader = next(iter(self.given)) if len(self.given) == 1 else None
            book.take(tensors, pair.targets, self._indices(size) if book.loader is not None else None)
            self.idle = book.idle

    def _inputs(self, given: tuple[Any, ...], size: int, target: torch.Tensor | None) -> list[torch.Tensor]:
        found = tensors_of(given, size, target)
        return found if all(x.is_cpu for x in found) or self.session.sampled else []

    @property
    def _batches(self) -> BatchWatch | None:
        return next((o for o in self.session.observers if isinstance(o, BatchWatch)), None)

    def _indices(self, size: int) -> Array | None:
        """The data set indices of the batch that the model was given, where a loader drew them."""
        known = self._batches.indices if self._batches is not None else None
        if not isinstance(known, (list, tuple)) or len(known) != size:
            return None
        numbers = np.array(known)
        if numbers.dtype.kind != "i" or numbers.ndim != 1 or numbers.min() < 0:
            return None
        return numbers if self.part is None else self.part[numbers]

    # -- evaluation ---------------------------------------------------------------------------------------------

    def _evaluate(self, call: ForwardCall) -> None:
        given = _given(call)
        first = next((a for a in given if isinstance(a, torch.Tensor) and a.dim()), None)
        if first is None or not first.is_cpu or not self.training:
            return
        key = (call.place_key, caller_of(3), next(iter(self.given), None))
        book = self.evaluations.get(key)
        if book is None:
            if len(self.evaluations) >= 2 * MOST_BOOKS:
                return
            book = self.evaluations[key] = Book(EVALUATION_ROWS)
            book.place, book.caller, book.loader = key
        if book.seen_at != self.session.step:
            book.seen_at = self.session.step
            book.passes += 1
        if book.passes <= PASSES and (tensors := tensors_of(given, len(first))):
            self.evaluated = [*self.evaluated[-MOST_BATCHES:], (book, book.take(tensors, None, None))]

    def _judge(self, call: LossCall) -> None:
        """The targets of what was evaluated: of the last batch, or of all batches since the last loss."""
        if not self.evaluated or (targets := targets_of(call)) is None:
            return
        parts, self.evaluated = self.evaluated, []
        if len(targets.values) != sum(len(names) for _, names in parts):
            parts = [part for part in parts[-1:] if len(part[1]) == len(targets.values)]
        at = 0
        for book, names in parts:
            book.judge(names, targets.part(slice(at, at + len(names))))
            at += len(names)

    # -- the end ------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        self._forget()
        for (place, aim, _), book in self.training.items():
            book.usable = book.usable and (place, aim) not in self.unclear
        if (fact := studied(self)) is not None:
            self.session.writer.fact("data_probe", fact)


def _elements(call: LossCall) -> Any:
    return call.output.grad_fn if unreduced(call) else None


def _given(call: ForwardCall) -> tuple[Any, ...]:
    return one_row_each((*call.args, *call.kwargs.values()))
