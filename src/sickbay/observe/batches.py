"""Loaders and batches: where the data comes from, in what order, at what scale, and whether it is finite."""

from __future__ import annotations

import ast
import weakref
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch

from sickbay import facts
from sickbay.nouns import Place
from sickbay.observe.deliveries import Deliveries
from sickbay.observe.input_scale import InputScale
from sickbay.observe.labels import LabelWatch, periodic
from sickbay.observe.observer import ForwardCall, LossCall, Observer
from sickbay.observe.places import USER, expression_of, key_here, kind_of, place_of, variable_holding
from sickbay.observe.registry import spread
from sickbay.observe.syntax import operands

if TYPE_CHECKING:
    from sickbay.observe.session import Session

ORDER_STEPS = 2000
"""Label order is followed for this many training steps: enough for several epochs of anything small."""
FINGERPRINT, FINGERPRINTED = 32, 512
"""Numbers looked at per batch, and on how many of the first steps."""
SEARCHES = 50
"""Batches searched for non-finite values once the loss is not finite; later ones only on sampled steps."""
MOST_FOUND = 1000
"""Samples with NaN that are told of, at most."""
WATCHED_BYTES = 64 * 2**20


class LoaderEntry:
    """One DataLoader."""

    def __init__(self, index: int, loader: Any, place: Place | None, variable: str, built: Any) -> None:
        self.index = index
        self.built = built
        self.way = _way(loader)
        self.dataset = _reference(loader)
        self.place = place
        self.variable = variable
        self.epochs = 0
        self.trained_epochs = 0
        self.begun = False
        """It was started again and nothing was trained on it since: maybe training is only evaluated."""
        self.trained = 0
        self.batches = 0
        self.delivered = Deliveries()
        self.fact = loader_fact(index, loader)

    def reads_as(self, loader: Any, built: Any) -> bool:
        """Trainers build a new loader for every evaluation: the same data read in the same way is the same loader. Where the
        data set is made anew as well, the line that builds its loader tells."""
        if self.way != _way(loader):
            return False
        number, reference = self.dataset
        same = number == id(loader.dataset) and (reference is None or reference() is loader.dataset)
        made_anew = reference is not None and reference() is None and built is not None and built == self.built
        return same or made_anew


class BatchWatch(Observer):
    """Follows batches from the loader to the model's door and to the loss."""

    name = "batches"
    sees = "batches: loaders, order, scale and non-finite values in the data"
    takes = ("inputs",)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.loaders: list[LoaderEntry] = []
        self.iterators: dict[int, tuple[Any, LoaderEntry]] = {}
        self.current: LoaderEntry | None = None
        self.newest: Any = None
        """The data set indices of the newest batch, where a loader drew them,"""
        self.before: Any = None
        """...and of the one before it."""
        self.labels = LabelWatch(session)
        self.scale = InputScale()
        self.bad: dict[str, facts.NonfiniteBatch] = {}
        self.door: list[tuple[Any, Any, Any, torch.nn.Module]] = []
        self.targets: list[tuple[torch.Tensor, Any]] = []
        self.seen = 0
        self.searched = 0
        self.marks: set[int] = set()
        self.last_mark: int | None = None
        self.order: list[int] = []
        """Fingerprints of the training batches, in order, up to the first step that was not watched."""
        self.marked = self.repeated = self.in_a_row = 0

    # -- loaders ------------------------------------------------------------------------------------------------

    def loader_started(self, loader: Any, iterator: Any, key: Any, frame: FrameType | None) -> None:
        built = self.session.registry.loader_built_at(loader)
        entry = next((e for e in self.loaders if e.reads_as(loader, built)), None)
        if entry is None:
            place = place_of(*key) if key else None
            entry = LoaderEntry(len(self.loaders), loader, place, variable_holding(frame, loader), built)
            self.loaders.append(entry)
            if built is not None:
                entry.fact = replace(entry.fact, built_at=place_of(*built))
        entry.dataset = _reference(loader)
        entry.epochs += 1
        entry.delivered.begin()
        self.session.drawn.pop(id(iterator), None)
        self.iterators = {k: v for k, v in self.iterators.items() if v[0]() is not None}
        self.iterators[id(iterator)] = (weakref.ref(iterator), entry)
        self.session.drawn = {k: v for k, v in self.session.drawn.items() if k in self.iterators}
        entry.begun = True

    def batch_loaded(self, iterator: Any, batch: Any, seconds: float) -> None:
        found = self.iterators.get(id(iterator))
        if found is None:
            return
        self.current = found[1]
        self.current.batches += 1
        self.session.loader = found[1].index
        drawn = self.session.drawn.get(id(iterator))
        self.before, self.newest = self.newest, drawn.popleft() if drawn else None
        if not found[1].delivered.full:
            found[1].delivered.add(batch, self.newest)

    @property
    def indices(self) -> Any:
        """The data set indices of the batch that the model is given: some trainers load one ahead."""
        return self.before if self.session.loads_ahead else self.newest

    # -- the model's door ---------------------------------------------------------------------------------------

    def forward_begins(self, call: ForwardCall) -> None:
        if not call.grad:
            return
        if self.session.step < FINGERPRINTED:
            self._fingerprint(call)
        self.door.append((call.args, call.kwargs, call.place_key, call.module))
        if len(self.door) > 4:
            del self.door[0]
        if not self.scale.full:
            for x in _floats((*call.args, *call.kwargs.values()))[:1]:
                self.scale.add(x)

    def _fingerprint(self, call: ForwardCall) -> None:
        """Remember the batch by a few evenly spread numbers of its first tensor; only on the CPU, where that waits for nothing."""
        x = next((a for a in call.args if isinstance(a, torch.Tensor)), None)
        if x is None or not x.is_cpu or x.layout != torch.strided or not x.numel() or x.requires_grad:
            return
        mark = hash((x.shape, tuple(spread(x, FINGERPRINT).flatten().tolist())))
        known = mark in self.marks
        self.repeated += known
        self.in_a_row += mark == self.last_mark
        self.marks.add(mark)
        self.last_mark = mark
        self.marked += 1
        if not self.labels.gaps:
            self.order.append(mark)

    def _search(self) -> None:
        """The loss is not finite: was the data? Only now is it worth a look."""
        self.searched += 1
        for args, kwargs, key, _ in self.door:
            for x in _floats((*args, *kwargs.values())):
                if not x.requires_grad and x.numel() * x.element_size() <= WATCHED_BYTES:
                    self._check("input", x, key)
        for target, key in self.targets:
            if target.is_floating_point():
                self._check("target", target, key)

    def _check(self, role: str, x: torch.Tensor, key: Any) -> None:
        invalid = ~torch.isfinite(x)
        if bool(invalid.any()):
            known = self.bad.get(role)
            if known is None:
                self.note_nonfinite(role, x, invalid, key)
            else:
                more = self._samples(_bad_rows(invalid)) if len(known.found) < MOST_FOUND else []
                self.bad[role] = replace(known, batches=known.batches + 1, found=tuple(dict.fromkeys((*known.found, *more)))[:MOST_FOUND])

    def note_nonfinite(self, role: str, x: torch.Tensor, invalid: torch.Tensor, key: Any) -> None:
        rows = invalid.reshape(invalid.shape[0], -1) if invalid.dim() > 1 else invalid.reshape(-1, 1)
        bad_rows = _bad_rows(invalid)
        bad_columns = rows.any(0).nonzero().flatten().tolist()
        value = x[invalid][0].item()
        text = expression_of(*key) if key else ""
        self.bad[role] = facts.NonfiniteBatch(
            role=role,
            step=self.session.step,
            batches=1,
            loss_nonfinite=True,
            kind="nan" if value != value else "inf" if value > 0 else "-inf",
            count=int(invalid.sum()),
            total=x.numel(),
            rows=tuple(bad_rows[:16]),
            samples=tuple(self._samples(bad_rows[:16])),
            found=tuple(self._samples(bad_rows))[:MOST_FOUND],
            columns=tuple(bad_columns[:16]),
            columns_total=rows.shape[1],
            shape=tuple(x.shape),
            place=self.session.keep_source(place_of(*key)) if key else None,
            variable=operands(text)[1] if role == "target" else _argument(text),
        )

    def _samples(self, rows: list[int]) -> list[int]:
        if not isinstance(self.indices, (list, tuple)):
            return []
        return [int(self.indices[r]) for r in rows if r < len(self.indices) and isinstance(self.indices[r], int)]

    # -- the loss -----------------------------------------------------------------------------------------------

    def loss_called(self, call: LossCall | None) -> None:
        if call is None or call.target is None or not call.grad:
            return
        if not call.target.requires_grad:  # otherwise the model made it
            self.targets.append((call.target, key_here()))
        if len(self.targets) > 8:
            del self.targets[0]
        if self.session.step < ORDER_STEPS and call.target.is_cpu:
            self.labels.see(call, self.current)

    def backward_begins(self, loss: torch.Tensor, _: Any) -> None:
        if self.current is not None:
            if not self.current.trained:
                self.session.epoch = max(self.session.epoch, 0)
                self.session.train_loader = self.current.index
            self.current.trained += 1
        self.seen += 1
        if self.session.loss_finite is False and (self.searched < SEARCHES or self.session.sampled):
            self._search()
        self.door.clear()
        self.targets.clear()
        self.labels.training()

    def stepped(self, _: Any) -> None:
        if self.current is not None and self.current.begun:
            self.current.begun = False
            self.session.epoch += self.current.trained_epochs > 0
            self.current.trained_epochs += 1
        if self.session.epoch >= 0:
            self.session.pulse["epoch"] = self.session.epoch

    def woke(self) -> None:
        self.door.clear()
        self.targets.clear()
        self.labels.gap()

    # -- facts --------------------------------------------------------------------------------------------------

    def report(self) -> None:
        writer = self.session.writer
        loaders = []
        for entry in self.loaders[:32]:
            role = "train" if entry.trained else "eval" if entry.batches else "unknown"
            place = self.session.keep_source(entry.place)
            self.session.keep_source(entry.fact.built_at)
            self.session.keep_source(entry.fact.item_at)
            loaders.append(
                replace(entry.fact, role=role, iterated_at=place, epochs=entry.epochs, variable=entry.variable, delivered=entry.delivered.fact())
            )
        writer.fact("loaders", loaders)
        writer.fact("batches", facts.Batches(seen=self.marked, distinct=len(self.marks), repeated=self.repeated, in_a_row=self.in_a_row))
        writer.fact("nonfinite", [replace(bad, batches_seen=self.seen) for bad in self.bad.values()])
        if (scale := self.scale.fact()) is not None:
            writer.fact("inputs", [scale])
        self.labels.catch_up()
        if (order := self.labels.fact(periodic(self.order or self.labels.prints))) is not None:
            self.session.keep_source(order.place)
            writer.fact("labels", order)


def _floats(values: Any) -> list[torch.Tensor]:
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            if value.is_floating_point() and value.layout == torch.strided and value.numel():
                found.append(value)
        elif isinstance(value, (list, tuple)):
            found += _floats(value[:8])
        elif isinstance(value, dict):
            found += _floats(list(value.values())[:8])
    return found


def loader_fact(index: int, loader: Any) -> facts.Loader:
    sampler = getattr(loader, "sampler", None)
    dataset = getattr(loader, "dataset", None)
    return facts.Loader(
        index=index,
        sampler=type(sampler).__name__,
        sequential=isinstance(sampler, torch.utils.data.SequentialSampler) and _plain_batches(loader),
        stream=isinstance(dataset, torch.utils.data.IterableDataset),
        batch_size=getattr(loader, "batch_size", None),
        batches=_length(loader),
        samples=_length(dataset),
        workers=getattr(loader, "num_workers", 0),
        drop_last=bool(getattr(loader, "drop_last", False)),
        dataset=type(dataset).__name__,
        item_at=_maker(dataset),
    )


def _maker(dataset: Any) -> Place | None:
    """The line of the script's own `__getitem__` (or `__iter__`), inside whatever torch put around the data set."""
    for _ in range(4):
        for name in ("__getitem__", "__iter__"):
            code = getattr(getattr(type(dataset), name, None), "__code__", None)
            if code is not None and kind_of(code) == USER:
                return place_of(code, 0)
        dataset = getattr(dataset, "dataset", None)
    return None


def _way(loader: Any) -> tuple[Any, ...]:
    return _length(loader.dataset), type(getattr(loader, "sampler", None)), getattr(loader, "batch_size", None)


def _reference(loader: Any) -> tuple[int, weakref.ref[Any] | None]:
    try:
        return id(loader.dataset), weakref.ref(loader.dataset)
    except TypeError:  # a plain list
        return id(loader.dataset), None


def _plain_batches(loader: Any) -> bool:
    return type(getattr(loader, "batch_sampler", None)).__name__ in ("BatchSampler", "NoneType")


def _length(thing: Any) -> int | None:
    try:
        return len(thing)
    except Exception:
        return None


def _bad_rows(invalid: torch.Tensor) -> list[int]:
    rows: list[int] = (invalid.reshape(invalid.shape[0], -1).any(1) if invalid.dim() else invalid.reshape(1)).nonzero().flatten().tolist()
    return rows


def _argument(call: str) -> str:
    """The first argument of the call in "model(x)"."""
    try:
        node = ast.parse(call.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return ""
    return ast.unparse(node.args[0]) if isinstance(node, ast.Call) and node.args else ""
