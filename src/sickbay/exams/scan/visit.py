"""Goes through a loader from its first batch to its last: with the data set's indices where a sampler draws them, and on beyond samples that raise."""

from __future__ import annotations

import time
import zlib
from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset
from torch.utils.data.dataloader import _BaseDataLoaderIter

from sickbay.exams.scan.parts import parts_of
from sickbay.facts.scan import Failure
from sickbay.nouns import Place
from sickbay.observe.places import USER, kind_of, place_of

MOST_FAILURES = 1000
GIVE_UP = 64
"""Batches in a row of which nothing could be loaded: then nothing can be."""
GIVE_UP_STREAM = 8
"""...of a stream, which mostly ends with its first exception."""
FOLDED = 64
"""Batches whose indices are summed up together."""
LISTS = ("samples", "imgs", "files", "paths", "filenames", "file_names", "image_paths", "file_paths", "images")
"""Where data sets keep the paths of their samples."""
clock = time.perf_counter


@dataclass(slots=True)
class Visit:
    number: int
    batch: Any
    indices: Any
    """As the sampler drew them; None where there is none."""


@dataclass
class Visitor:
    """One pass. What it met on the way is in its fields."""

    loader: Any
    workers: int | None = None
    start: int = 0
    """Batches that an earlier scan has seen."""
    checksum: int = 0
    """...over their indices."""
    failures: list[Failure] = field(default_factory=list)
    failed: int = 0
    failed_batches: int = 0
    ended_by: str = ""
    waited: float = 0.0
    first: list[Any] = field(default_factory=list)
    """What the first batches drew, to compare it with another epoch's."""
    noted: list[Any] = field(default_factory=list)
    resumed: bool = False
    done: int = 0
    """Batches that are behind us."""
    stopping: Callable[[], bool] = lambda: False

    def __iter__(self) -> Iterator[Visit]:
        with _drawing() as drawn:
            yield from self._visits(drawn)

    def _visits(self, drawn: dict[int, deque[Any]]) -> Iterator[Visit]:
        iterator, self.done = self._begin()
        in_a_row = 0
        while not self.stopping():
            began, error = clock(), None
            try:
                batch = next(iterator)
            except StopIteration:
                return
            except Exception as e:
                error = e
            finally:
                self.waited += clock() - began
            queue = drawn.get(id(iterator))
            indices = kept = queue.popleft() if queue else None
            if error is not None:
                if self.stopping():  # Ctrl-C has ended the workers too
                    break
                batch, kept = self._one_by_one(self.done, indices, error)
                self.failed_batches += 1
                in_a_row = in_a_row + 1 if batch is None else 0
                if in_a_row >= (GIVE_UP if indices is not None else GIVE_UP_STREAM):
                    self.ended_by = type(error).__name__
                    return
            if batch is not None:
                yield Visit(self.done, batch, kept)
            self._note(indices)
            self.done += 1
        self.ended_by = "interrupted"

    def _begin(self) -> tuple[Any, int]:
        """An iterator, and the number of its first batch."""
        loader = self.loader
        if self.start:
            if isinstance(loader, Sequence):
                self.resumed = True
                return iter(loader[self.start :]), self.start
            if (rest := self._rest()) is not None:
                self.resumed = True
                return iter(rest), self.start
            self.checksum = 0
        if self.workers is not None and isinstance(loader, DataLoader):
            loader = remade(loader, self.workers)
        return iter(loader), 0

    def _rest(self) -> Any:
        """A loader of what the earlier scan has not seen; None if this one draws another order, or draws none at all."""
        if not map_style(self.loader) or self.loader.batch_sampler is None:
            return None
        source: Any = iter(remade(self.loader, 0))
        checksum = 0
        for _ in range(self.start):
            try:
                checksum = _summed(checksum, source._next_index())
            except StopIteration:
                return None
        if checksum != self.checksum:
            return None
        return remade(self.loader, self.loader.num_workers if self.workers is None else self.workers, _Left(source))

    def _note(self, indices: Any) -> None:
        if indices is not None:
            self.noted.append(indices)
            if len(self.noted) >= FOLDED:
                self.digest()

    def digest(self) -> int:
        """The checksum over all indices so far."""
        for indices in self.noted:
            self.checksum = _summed(self.checksum, indices)
        self.first += self.noted[: FOLDED - len(self.first)]
        self.noted = []
        return self.checksum

    # -- what raises --------------------------------------------------------------------------------------------

    def _one_by_one(self, number: int, indices: Any, error: Exception) -> tuple[Any, list[Any]]:
        """The samples of a batch that raised, each by itself: those that raise are noted, the others make a batch."""
        data = getattr(self.loader, "dataset", None)
        if not isinstance(indices, (list, tuple)) or not map_style(self.loader):
            index = indices if isinstance(indices, int) else None
            self._failed(Failure(batch=number, index=index, path=_path(data, index, error), **_told(error)))
            return None, []
        good, kept, before = [], [], self.failed
        for index in indices:
            try:
                good.append(data[index])  # type: ignore[index]
                kept.append(index)
            except Exception as e:
                whole = index if isinstance(index, int) else None
                self._failed(Failure(batch=number, index=whole, path=_path(data, index, e), **_told(e)))
        if not good:
            return None, []
        if self.failed > before:
            try:
                return self.loader.collate_fn(good), kept
            except Exception as e:
                error = e  # others of the same batch do not fit together
        try:
            return self._uneven(number, good, kept, error)
        except Exception as e:
            self._failed(Failure(batch=number, collate=True, **_told(e)))
            return None, []

    def _uneven(self, number: int, good: list[Any], kept: list[Any], error: Exception) -> tuple[Any, list[Any]]:
        """Each sample can be made, together they make no batch: those with another shape than most are to blame."""
        shapes = [repr([(name, getattr(x, "shape", type(x).__name__)) for name, x in parts_of(item)]) for item in good]
        usual = Counter(shapes).most_common(1)[0][0]
        odd = [i for i, shape in enumerate(shapes) if shape != usual]
        for i in odd:
            self._failed(Failure(batch=number, index=kept[i] if isinstance(kept[i], int) else None, collate=True, **_told(error)))
        if not odd:
            self._failed(Failure(batch=number, collate=True, **_told(error)))
            return None, []
        left = [i for i in range(len(good)) if i not in odd]
        return self.loader.collate_fn([good[i] for i in left]), [kept[i] for i in left]

    def _failed(self, failure: Failure) -> None:
        self.failed += 1
        if len(self.failures) < MOST_FAILURES:
            self.failures.append(failure)


class _Left:
    """The batches of indices that an iterator has not drawn yet."""

    def __init__(self, source: Any) -> None:
        self.source = source

    def __iter__(self) -> Iterator[Any]:
        while True:
            try:
                yield self.source._next_index()
            except StopIteration:
                return


@contextmanager
def _drawing() -> Iterator[dict[int, deque[Any]]]:
    """While this lasts, the indices that loaders draw are noted, by iterator, in the order of their batches."""
    drawn: dict[int, deque[Any]] = {}
    original: Any = _BaseDataLoaderIter._next_index

    def _next_index(self: Any) -> Any:
        index = original(self)
        if self._dataset_kind == 0:  # of streams, these are only a count
            try:
                drawn[id(self)].append(index)
            except KeyError:
                drawn[id(self)] = deque([index])
        return index

    _BaseDataLoaderIter._next_index = _next_index  # type: ignore[method-assign]
    try:
        yield drawn
    finally:
        _BaseDataLoaderIter._next_index = original  # type: ignore[method-assign]


def map_style(loader: Any) -> bool:
    return isinstance(loader, DataLoader) and not isinstance(loader.dataset, IterableDataset)


def remade(loader: Any, workers: int, batches: Iterable[Any] | None = None) -> Any:
    """The same loader with another number of workers, or for other batches."""
    how: dict[str, Any] = {"num_workers": workers, "collate_fn": loader.collate_fn, "generator": loader.generator}
    if workers:
        how |= {"worker_init_fn": loader.worker_init_fn, "multiprocessing_context": loader.multiprocessing_context, "timeout": loader.timeout}
    if batches is not None:
        return DataLoader(loader.dataset, batch_sampler=batches, **how)
    if isinstance(loader.dataset, IterableDataset):
        return DataLoader(loader.dataset, batch_size=loader.batch_size, drop_last=loader.drop_last, **how)
    if loader.batch_sampler is None:
        return DataLoader(loader.dataset, sampler=loader.sampler, batch_size=None, **how)
    return DataLoader(loader.dataset, batch_sampler=loader.batch_sampler, **how)


def drawn_again(loader: Any, batches: int) -> list[Any] | None:
    """The indices that the first batches of another epoch draw; None where no sampler draws any."""
    if not map_style(loader):
        return None
    source: Any = iter(remade(loader, 0))
    found = []
    for _ in range(batches):
        try:
            found.append(source._next_index())
        except StopIteration:
            break
    return found


def chosen_again(loader: Any, workers: int | None, indices: Any, batches: int) -> Iterator[tuple[Any, Any]]:
    """Samples of an earlier scan by their indices; of a list, its first batches."""
    if isinstance(loader, Sequence):
        yield from ((batch, None) for batch in loader[:batches])
        return
    if indices is None or not map_style(loader):
        raise LookupError("the loader tells no index")
    size = max(loader.batch_size or 32, 1)
    chosen = [indices[at : at + size].tolist() for at in range(0, len(indices), size)]
    yield from zip(remade(loader, loader.num_workers if workers is None else workers, chosen), chosen, strict=True)


def _summed(checksum: int, indices: Any) -> int:
    try:
        return zlib.crc32(array("q", indices).tobytes(), checksum)
    except TypeError:  # something else than numbers
        return zlib.crc32(repr(indices).encode(), checksum)


def _told(error: BaseException) -> dict[str, Any]:
    lines = str(error).strip().splitlines()
    return {"kind": type(error).__name__, "place": _raised_at(error), "message": lines[-1][:300] if lines else ""}


def _raised_at(error: BaseException) -> Place | None:
    """The innermost line of the user's own."""
    found, trace = None, error.__traceback__
    while trace is not None:
        if kind_of(trace.tb_frame.f_code) == USER:
            found = (trace.tb_frame.f_code, trace.tb_lasti)
        trace = trace.tb_next
    return place_of(*found) if found is not None else None


def _path(data: Any, index: Any, error: BaseException) -> str:
    """The file that a sample is read from, as far as the exception or the data set tells."""
    if isinstance(name := getattr(error, "filename", None), (str, bytes)):
        return name if isinstance(name, str) else name.decode(errors="replace")
    for _ in range(4):
        for attribute in LISTS:
            held = getattr(data, attribute, None)
            if isinstance(held, Sequence) and isinstance(index, int) and -len(held) <= index < len(held):
                item = held[index][0] if isinstance(held[index], (tuple, list)) and held[index] else held[index]
                if isinstance(item, str) or hasattr(item, "__fspath__"):
                    return str(item)
        if isinstance(data, torch.utils.data.Subset) and isinstance(index, int):
            data, index = data.dataset, int(data.indices[index])
        else:
            break
    return ""
