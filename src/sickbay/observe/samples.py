"""Which samples training and evaluation see, and on what scale: rows are known by a key, features by their mean and spread.

Keys (see keys.py) and sums of the first batches are kept, nothing of the samples themselves.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sickbay import facts
from sickbay.nouns import Place
from sickbay.observe.batches import BatchWatch
from sickbay.observe.features import Features
from sickbay.observe.fillings import Filling, compared
from sickbay.observe.keys import Rows, rows_given, whole_row_keys
from sickbay.observe.numbers import Array, among, distinct
from sickbay.observe.observer import ForwardCall, Observer
from sickbay.observe.one_pass import OnePass
from sickbay.observe.parts import Part, part_of
from sickbay.observe.places import USER, expression_of, key_of, kind_of, place_of, user_frame
from sickbay.observe.stretches import MOST_SHOWN, Found, Stretches
from sickbay.observe.words import Words, shift

if TYPE_CHECKING:
    from sickbay.observe.session import Session

MOST_ROWS = 100_000
"""Training rows that are remembered; of each evaluation a fifth of that."""
EVERY_STEPS = 256
"""Training rows are looked at on each of the first steps, and then on sampled ones: enough for all of a small data set."""
MOST_EVALUATIONS, MOST_MODELS = 8, 8
MOSTLY = 0.8
"""Of a batch that training had met, as far as training was watched: then it is one of training's own."""
PASSES = 2
"""Times that one evaluation is looked at: its data is the same the next time,"""
MOST_LOADERS, MOST_WHOLES = 8, 4
"""Running loaders whose part of a data set is known, and data sets of whose samples it is known which the model was trained on."""
MOST_NAMED = 1000
MOST_CONTINUED = 8192
"""Numbers of a row that is held against the next one."""
FIRST_ROWS, HALF = 16, 0.5
"""...of which its first rows tell: fewer than half of them known means others."""


@dataclass
class Group:
    """What one evaluation (a line, the line that called it, a loader) showed the model."""

    key: tuple[CodeType, int] | None
    caller: tuple[CodeType, int] | None
    loader: int | None
    batches: list[Array] = field(default_factory=list)
    indices: list[Any] = field(default_factory=list)
    """Of the data set, for each of these batches; None where no loader tells."""
    met: list[int] = field(default_factory=list)
    """Training rows that the model had met when each of these batches was evaluated."""
    features: Features = field(default_factory=Features)
    first_pass: OnePass = field(default_factory=OnePass)
    words: Words = field(default_factory=Words)
    filling: Filling = field(default_factory=Filling)
    stretches: list[Found] = field(default_factory=list)
    """Of its first pass that had windows of training before it,"""
    stretches_in: int = 0
    """...that pass,"""
    windows: int = 0
    stretches_after: int = 0
    """...and how many batches of these came before."""
    rows: int = 0
    passes: int = 0
    first: int = -1
    seen_at: int = -1
    before: int = -1
    """Steps of this pass and of the one before."""
    after: int = 0
    """Training rows that the model had met when this was evaluated last."""
    shape: tuple[int, ...] = ()
    part: int = 0
    """Samples of the part of a data set that this evaluation's loader dealt out,"""
    shared: int = 0
    """...those of them that the model had been trained on by then, by their indices: of the pass that shared most."""
    newest: torch.Tensor | None = None
    """The first row of the newest batch,"""
    continued: int = 0
    """...and how many batches went on where the one before ended, as text does that a model writes itself."""
    known: Array | None = None
    """Rows of the first passes, if all of them showed the same."""
    anew: list[Array] = field(default_factory=list)
    """Of the first later pass that showed others,"""
    anew_at: int = -1
    anew_after: int = 0
    """...its step, and that of the pass before,"""
    anew_met: int = 0
    """...and the training rows that the model had met by then."""

    def begins(self, step: int) -> bool:
        """Whether this is the first batch of a pass."""
        if self.seen_at == step:
            return False
        self.first = step if self.first < 0 else self.first
        self.before, self.seen_at = self.seen_at, step
        self.passes += 1
        return True

    def compare(self, part: Part | None, trained: list[Part]) -> None:
        """The part of this pass beside those that the model was trained on so far."""
        if part is not None and (shared := part.shared_with(trained)) >= self.shared:
            self.part, self.shared = len(part.indices), shared

    def compare_windows(self, x: torch.Tensor, keys: Array, trained: Stretches) -> None:
        if self.stretches_in in (0, self.passes) and (room := MOST_SHOWN - self.windows) > 0 and (shown := trained.shown(x, keys, room)) is not None:
            self.stretches.append(shown)
            self.windows += len(x)
            self.stretches_in, self.stretches_after = self.passes, trained.batches

    def look_again(self, x: torch.Tensor, begins: bool, met: int) -> None:
        """Later passes are not looked at, but for their first rows: others than before mean that the data was divided anew."""
        if begins and self.anew_at < 0:
            if self.known is None:
                first = np.concatenate([k for k, m in zip(self.batches, self.met, strict=True) if m == self.met[0]])
                second = np.concatenate([k for k, m in zip(self.batches, self.met, strict=True) if m != self.met[0]] or [first[:0]])
                self.known = np.unique(first) if len(second) and np.isin(second, first).all() else first[:0]
            if len(self.known) and np.isin(whole_row_keys(x[:FIRST_ROWS]), self.known).mean() < HALF:
                self.anew_at, self.anew_after, self.anew_met = self.seen_at, self.before, met
        if self.seen_at == self.anew_at and sum(map(len, self.anew)) < MOST_ROWS // 5:
            self.anew.append(whole_row_keys(x))


class Book:
    """The rows that one model has met."""

    def __init__(self, module: torch.nn.Module) -> None:
        self.module = weakref.ref(module)
        self.train: list[Array] = []
        self.parts: list[Part] = []
        """Of data sets whose parts it was trained on, all that it was trained on."""
        self.newest_part: Part | None = None
        self.rows = 0
        self.features = Features()
        self.words = Words()
        self.filling = Filling()
        self.stretches = Stretches()
        self.groups: dict[Any, Group] = {}
        self.whole_numbers = True
        self.shape: tuple[int, ...] = ()
        self.whole = True
        """Training gave it nothing besides these rows: points at which a derivative is asked for are no samples that could be compared."""

    def trained_on(self, part: Part) -> None:
        """Note the part of a data set that a batch of training came from."""
        if part is self.newest_part:
            return
        self.newest_part = part
        known = next((p for p in self.parts if p.same_whole(part)), None)
        if known is not None:
            self.parts[self.parts.index(known)] = known.joined(part)
        elif len(self.parts) < MOST_WHOLES:
            self.parts.append(part)

    def begin_again(self) -> None:
        """The model starts anew (another fold, another trial): what it has met so far does not count."""
        self.parts, self.newest_part, self.stretches = [], None, Stretches()
        self.train, self.rows, self.features, self.words, self.filling, self.groups = [], 0, Features(), Words(), Filling(), {}


class SampleWatch(Observer):
    """Compares the rows that evaluation shows the model with those it was trained on."""

    name = "samples"
    sees = "whether evaluation meets training's own samples, or samples on another scale"
    takes = ("inputs",)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.books: dict[int, Book] = {}
        self.past: list[facts.EvaluationData] = []
        """Of models that have begun anew since."""
        self.written = -1
        self.loader: int | None = None
        """Where the newest batch came from, until training has used it."""
        self.parts: dict[int, Part] = {}
        """What each running loader deals out, by its iterator,"""
        self.part: Part | None = None
        """...and the one that gave the newest batch."""

    def loader_started(self, loader: Any, iterator: Any, *_: Any) -> None:
        self.parts.pop(id(iterator), None)
        if (part := part_of(loader)) is not None:
            self.parts = dict([*self.parts.items()][1 - MOST_LOADERS :]) | {id(iterator): part}

    def batch_loaded(self, iterator: Any, *_: Any) -> None:
        self.loader, self.part = self.session.loader, self.parts.get(id(iterator))

    def stepped(self, *_: Any) -> None:
        self.loader = None  # training has used it, also on steps that are slept through

    napped = stepped

    def forward_begins(self, call: ForwardCall) -> None:
        training = call.module.training and call.grad
        if (training and self.session.step >= EVERY_STEPS and not self.session.at_inputs) or (call.grad and not training):
            return
        rows = rows_given(call)
        if rows is None:
            return
        book = self._book(call.module)
        if book is None:
            return
        if rows.x.requires_grad:
            book.whole = book.whole and not training
            return
        if training:
            if self.loader is not None and self.part is not None:
                book.trained_on(self.part)
            self.loader = None
            if book.rows < MOST_ROWS:
                self._train(book, rows)
        else:
            self._evaluate(book, rows, call)

    def _book(self, module: torch.nn.Module) -> Book | None:
        book = self.books.get(id(module))
        if book is None or book.module() is not module:
            if len(self.books) >= MOST_MODELS:
                return None
            book = self.books[id(module)] = Book(module)
        return book

    def _train(self, book: Book, rows: Rows) -> None:
        x, columns = rows.x, rows.columns
        book.train.append(rows.keys)
        book.stretches.add(x, rows.keys)
        book.rows += len(columns)
        if not book.features.full and columns.dtype.kind in "fiu" and (self.session.thorough or not self.session.asleep):
            book.features.add(columns)
            book.features.add_rows(x)
            book.whole_numbers = book.whole_numbers and bool((columns == np.round(columns)).all())
            book.words.add(columns)
            book.filling.add(x)
            book.shape = tuple(x.shape[1:])

    def _evaluate(self, book: Book, rows: Rows, call: ForwardCall) -> None:
        x = rows.x
        caller = caller_of(3)
        key = (call.place_key, caller, self.loader)
        group = book.groups.get(key)
        if group is None:
            if len(book.groups) >= MOST_EVALUATIONS:
                return
            group = book.groups[key] = Group(call.place_key, caller, self.loader)
        begins = group.begins(self.session.step)
        group.after = book.rows
        if begins and group.passes <= PASSES and self.loader is not None:
            group.compare(self.part, book.parts)
        if group.rows > MOST_ROWS // 5:
            group.first_pass.whole = group.first_pass.whole and group.passes > 1
            return
        if group.passes > PASSES:
            group.look_again(x, begins, book.rows)
            return
        columns = rows.columns
        row = x[0].detach()
        group.continued += group.newest is not None and _continues(row, group.newest)
        group.newest = row.clone() if row.dim() and row.numel() <= MOST_CONTINUED else None
        group.compare_windows(x, rows.keys, book.stretches)
        group.batches.append(rows.keys)
        group.indices.append(self._indices(len(columns)) if self.loader is not None else None)
        group.met.append(book.rows)
        group.rows += len(columns)
        group.shape = tuple(x.shape[1:])
        if columns.dtype.kind in "fiu":
            group.features.add(columns)
            group.features.add_rows(x)
            if group.passes == 1:
                group.first_pass.add(columns)
            group.words.add(columns)
            group.filling.add(x)

    def _indices(self, size: int) -> Any:
        """The data set indices of the batch, where a loader drew them and all of it is evaluated at once."""
        batches = next((o for o in self.session.observers if isinstance(o, BatchWatch)), None)
        known = batches.indices if batches is not None else None
        return known if isinstance(known, (list, tuple)) and len(known) == size else None

    # -- a model that begins anew -------------------------------------------------------------------------------

    def state_loaded(self, module: torch.nn.Module, *_: Any) -> None:
        book = self.books.get(id(module))
        if book is not None and book.module() is module and self.session.step:
            self._begin_again(book)

    def initialised(self, tensor: torch.Tensor, *_: Any) -> None:
        for book in self.books.values():
            module = book.module() if book.rows else None
            if module is not None and any(p is tensor for p in module.parameters()):
                self._begin_again(book)

    def _begin_again(self, book: Book) -> None:
        if book.rows and len(self.past) < MOST_MODELS:
            self.past += self._compared(book)  # what was seen up to here was seen: many scripts end by loading their best weights
        book.begin_again()

    # -- facts --------------------------------------------------------------------------------------------------

    def report(self) -> None:
        total = sum(g.rows for b in self.books.values() for g in b.groups.values()) + sum(b.rows for b in self.books.values())
        if total == self.written:
            return
        self.written = total
        found = [*self.past, *(fact for book in self.books.values() if book.rows for fact in self._compared(book))]
        self.session.writer.fact("evaluation_data", found[:16])

    def _compared(self, book: Book) -> list[facts.EvaluationData]:
        groups = [group for group in book.groups.values() if group.batches and group.after]
        if not groups:
            return []
        order = np.concatenate(book.train)
        known = distinct(order)
        late = max(1, len(order) // 10)
        again = float(among(order[-late:], distinct(order[:-late])).mean()) if len(order) > late else 0.0
        trained = book.features.fact()
        twins = sum(len(keys) - len(distinct(keys)) for keys in book.train) / sum(max(len(keys) * (len(keys) - 1) / 2, 1) for keys in book.train)
        return [self._fact(book, group, order, known, again, twins, trained) for group in groups]

    def _fact(
        self, book: Book, group: Group, order: Array, known: Array, again: float, twins: float, trained: facts.FeatureScale | None
    ) -> facts.EvaluationData:
        hits = [among(keys, known) for keys in group.batches]
        whole = [bool(h.mean() >= MOSTLY) for h in hits]
        rows = np.concatenate(group.batches)
        found = np.concatenate(hits)
        met_by_then = {met: distinct(order[:met]) for met in set(group.met)}
        trained_before = [int(among(keys, met_by_then[met]).sum()) for keys, met in zip(group.batches, group.met, strict=True)]
        first = group.met[0]
        texts = [expression_of(*key) for key in (group.key, group.caller) if key is not None]
        loader = group.loader
        unrolled = group.continued > len(group.batches) // 2  # steps of one sequence: they say nothing of how samples are prepared
        return facts.EvaluationData(
            place=self._place(group.key),
            called_from=self._place(group.caller),
            texts=tuple(t[:200] for t in texts if t),
            loader=loader,
            train_loader=loader is not None and loader == self.session.train_loader,
            passes=group.passes,
            first=group.first,
            last=group.seen_at,
            rows=len(rows),
            distinct=len(distinct(rows)),
            found=int(found.sum()),
            samples=_named(hits, group.indices),
            found_distinct=len(distinct(rows[found])),
            found_first=sum(before for before, met in zip(trained_before, group.met, strict=True) if met == first) if first else None,
            first_rows=sum(len(keys) for keys, met in zip(group.batches, group.met, strict=True) if met == first),
            found_later=sum(before for before, met in zip(trained_before, group.met, strict=True) if met != first),
            anew_rows=sum(map(len, group.anew)),
            anew_found=sum(int(np.isin(keys, order[: group.anew_met]).sum()) for keys in group.anew),
            anew_after=group.anew_after,
            part=group.part,
            overlap=book.stretches.compare(group.stretches, group.stretches_after),
            part_shared=group.shared,
            batches=len(hits),
            whole_batches=sum(whole),
            rows_in_whole_batches=sum(len(h) for h, w in zip(hits, whole, strict=True) if w),
            train_rows=book.rows,
            train_whole=book.whole,
            train_distinct=len(known),
            train_again=again,
            train_twins=twins,
            whole_numbers=book.whole_numbers,
            width=int(np.prod(book.shape)) if book.shape else 0,
            same_shape=book.shape == group.shape,
            shape=book.shape,
            words=shift(book.words, group.words) if not unrolled else None,
            filled=compared(book.filling, group.filling) if not unrolled else None,
            train=trained,
            evaluation=group.features.fact() if not unrolled else None,
            own_scale=group.first_pass.fact() if not unrolled else None,
        )

    def _place(self, key: tuple[CodeType, int] | None) -> Place | None:
        return self.session.keep_source(place_of(*key)) if key is not None else None


def caller_of(depth: int) -> tuple[CodeType, int] | None:
    """The user's line that called the function in which the model is called: one `evaluate()` may serve several data sets."""
    frame = user_frame(depth)
    frame = frame.f_back if frame is not None else None
    while frame is not None and kind_of(frame.f_code) != USER:
        frame = frame.f_back
    return key_of(frame) if frame is not None else None


def _continues(row: torch.Tensor, before: torch.Tensor) -> bool:
    """The row is the one before with one more value at its end, and perhaps without its first."""
    longer = len(row) - len(before) if row.dim() else -1
    if longer not in (0, 1) or len(before) < 2 or row.shape[1:] != before.shape[1:]:
        return False
    return torch.equal(row[:-1], before[1 - longer :])


def _named(hits: list[Array], indices: list[Any]) -> tuple[int, ...]:
    """The samples that were found, by their indices."""
    pairs = ((known, hit) for known, hit in zip(indices, hits, strict=True) if known is not None)
    found = {i for known, hit in pairs for i, h in zip(known, hit.tolist(), strict=True) if h and isinstance(i, int)}
    return tuple(sorted(found)[:MOST_NAMED])
