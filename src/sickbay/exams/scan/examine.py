"""One scan: a pass over each loader, then the questions that need all of it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import BatchSampler, DataLoader, IterableDataset, RandomSampler, SequentialSampler, WeightedRandomSampler

from sickbay.exams.scan import resume
from sickbay.exams.scan.augmentation import augmentation
from sickbay.exams.scan.book import LoaderBook
from sickbay.exams.scan.neutral import undisturbed
from sickbay.exams.scan.splits import compared, nearly
from sickbay.exams.scan.visit import Visitor, chosen_again, drawn_again
from sickbay.facts.data import Loader
from sickbay.facts.examples import DataProbe
from sickbay.facts.scan import Augmentation, LoaderSeen, Scan, TensorSeen
from sickbay.nouns import NotChecked
from sickbay.observe.batches import loader_fact
from sickbay.observe.examples.outlying import outlying
from sickbay.observe.examples.study import probed

Progress = Callable[[str, int, int | None], None]
"""Told the loader's name, the batches seen so far, and how many there are (None if nobody knows)."""
STUDY_SECONDS = 10.0
"""That the questions about labels may take: nobody waits for a training run here."""
clock = time.perf_counter


@dataclass
class Pass:
    """One loader that was gone through."""

    book: LoaderBook
    seen: LoaderSeen


def scan(
    train: Any, val: Any = None, *, workers: int | None = None, progress: Progress | None = None, state: Path | None = None, go_on: bool = True
) -> Scan:
    """Go through the loaders and tell what they hold. `state` is a file that is written when Ctrl-C stops the scan, and gone on from (`go_on`) where it fits."""
    started = clock()
    examined = Examination(workers, progress, state, go_on)
    with undisturbed(*(loader for loader in (train, val) if loader is not None)), Interrupts() as examined.interrupts:
        first = examined.through("train", train)
        second = examined.through("val", val, first) if val is not None and not examined.stopped else None
        found = Scan(train=first.seen, val=second.seen if second is not None else None)
        shaken: Augmentation | str | None = None
        if not examined.stopped:
            found = _questions(found, first, second)
            shaken = _shaken(train) if first.seen.rows else None
            if state is not None:
                resume.forget(state)
    if isinstance(shaken, Augmentation):
        found = replace(found, augmentation=shaken)
    missing = (*examined.missing, *_not_checked(found, val, shaken))
    return replace(found, not_checked=missing, seconds=clock() - started)


class Interrupts:
    """While this lasts, Ctrl-C is only noted: the batch at hand is finished first. A second one is not waited for."""

    def __init__(self) -> None:
        self.noted = False
        self.before: Any = None

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self.before = signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, *_: Any) -> None:
        if self.noted:
            raise KeyboardInterrupt
        self.noted = True

    def __exit__(self, *_: Any) -> None:
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)


class Examination:
    """The passes of one scan, one after the other."""

    def __init__(self, workers: int | None, progress: Progress | None, state: Path | None, go_on: bool) -> None:
        self.workers, self.progress, self.state = workers, progress, state
        self.earlier = resume.load(state) if state is not None and go_on else None
        self.interrupts = Interrupts()
        self.stopped = False
        self.missing: list[NotChecked] = []

    def through(self, name: str, loader: Any, finished: Pass | None = None) -> Pass:
        before = self.earlier
        if before is not None and before.name != name and before.finished is not None:
            done = Pass(*before.finished)
            self._again(before, name, loader, done.book, done.seen.batches)
            return done
        visitor, book = Visitor(loader, self.workers, stopping=lambda: self.interrupts.noted), LoaderBook(*_known(loader, self.workers))
        if before is not None and before.name == name:
            visitor.start, visitor.checksum = before.batches, before.checksum
        total, tick, began = _length(loader), self.progress, clock()
        for visit in visitor:
            if before is not None and visitor.resumed and book is not before.book:
                book = self._go_on(before, visitor)
            book.take(visit)
            if tick is not None:
                tick(name, visit.number + 1, total)
        if visitor.start and not visitor.resumed:
            why = "the loader draws another order this time (or tells none), so that all was read again"
            self.missing.append(NotChecked(f"going on where the last scan of the {name} loader stopped", why))
        book.flush()
        if before is not None and book is before.book and visitor.ended_by != "interrupted":
            self._again(before, name, loader, book, before.batches)
        book.asked.settle()
        visitor.digest()
        same = _same_order(loader, visitor)
        own = clock() - began - visitor.waited
        if visitor.ended_by == "interrupted":
            self._interrupted(name, visitor, book, finished)
        return Pass(book, _seen(name, loader, visitor, book, same, own))

    def _go_on(self, before: resume.Stopped, visitor: Visitor) -> LoaderBook:
        visitor.failures = [*before.failures, *visitor.failures]
        visitor.failed += before.failed
        visitor.failed_batches += before.failed_batches
        return before.book

    def _again(self, before: resume.Stopped, name: str, loader: Any, book: LoaderBook, batches: int) -> None:
        """Load the samples again that questions are asked of: the earlier scan kept no more than their indices."""
        try:
            for batch, indices in chosen_again(loader, self.workers, before.asked.get(name), batches):
                book.again(batch, indices)
            book.asked.settle()
        except Exception as e:
            why = f"some of those before batch {batches:,} could not be loaded again ({type(e).__name__})"
            self.missing.append(NotChecked("the questions about labels, for all samples", why))

    def _interrupted(self, name: str, visitor: Visitor, book: LoaderBook, finished: Pass | None) -> None:
        self.stopped = True
        if self.state is not None and book.batches:
            done = (finished.book, finished.seen) if finished is not None else None
            failures = visitor.failures, visitor.failed, visitor.failed_batches
            resume.save(self.state, resume.Stopped(name, visitor.done, visitor.digest(), book, *failures, done))


def _same_order(loader: Any, visitor: Visitor) -> bool | None:
    """Whether another epoch draws the same samples in the same order."""
    if len(visitor.first) < 2 and sum(len(i) if isinstance(i, list) else 1 for i in visitor.first) < 20:
        return None
    again = drawn_again(loader, len(visitor.first))
    return None if again is None or visitor.resumed else repr(again) == repr(visitor.first)


def _seen(name: str, loader: Any, visitor: Visitor, book: LoaderBook, same: bool | None, own: float) -> LoaderSeen:
    fact = loader_fact(0, loader) if isinstance(loader, DataLoader) else Loader(index=0, batches=_length(loader))
    sampler = getattr(loader, "sampler", None)
    listed = isinstance(loader, Sequence)
    sequential = fact.sequential if isinstance(loader, DataLoader) else True if listed else None
    drawn = book.drawn.repeats()[0] if book.indexed and not _draws_once(loader) else 0
    equal = book.seen.repeats()[1]
    labels = book.labels
    tensors = tuple(book.tensors[n].fact("target" if n == book.target else "input") for n in book.names if n in book.tensors)
    others = tuple(TensorSeen(name=n, kind=kind, dtype=dtype) for n, (kind, dtype) in book.others.items() if n not in book.tensors)
    return LoaderSeen(
        name=name,
        kind=type(loader).__name__,
        loader=replace(fact, variable=f"{name}_loader"),
        stream=not listed and (not isinstance(loader, DataLoader) or isinstance(loader.dataset, IterableDataset)),
        replacement=isinstance(sampler, WeightedRandomSampler) or (isinstance(sampler, RandomSampler) and sampler.replacement),
        own_batches=isinstance(loader, DataLoader) and type(loader.batch_sampler).__name__ not in ("BatchSampler", "NoneType"),
        pinned=bool(getattr(loader, "pin_memory", False)),
        cuda=torch.cuda.is_available(),
        batches=book.batches,
        rows=book.rows,
        batch_size=book.sizes.most_common(1)[0][0] if book.sizes else 0,
        batch_sizes=len(book.sizes),
        last_batch=book.last,
        indexed=bool(book.indexed),
        tensors=tensors + others,
        changed=book.changed,
        failures=tuple(visitor.failures),
        failed=visitor.failed,
        failed_batches=visitor.failed_batches,
        ended_by=visitor.ended_by,
        target=book.target if labels is not None else "",
        target_kind=labels.kind if labels is not None else "",
        labels=labels.fact(sequential, same) if labels is not None else None,
        histogram=labels.classes() if labels is not None else (),
        again=round(drawn / max(book.drawn.part, 1e-9)),
        equal=round(equal / max(book.seen.part, 1e-9)),
        looked_up=len(book.seen.keys),
        part=book.seen.part,
        same_order=same,
        resumed_at=visitor.start if visitor.resumed else 0,
        waited=visitor.waited,
        own=own,
    )


def _draws_once(loader: Any) -> bool:
    """Torch's own samplers, which draw each sample once."""
    sampler, batches = loader.sampler, loader.batch_sampler
    plain = type(sampler) is SequentialSampler or (type(sampler) is RandomSampler and not sampler.replacement)
    return plain and (batches is None or type(batches) is BatchSampler)


def _questions(found: Scan, first: Pass, second: Pass | None) -> Scan:
    both = ((p.seen.name, outlying(p.book.asked.examples)) for p in (first, second) if p is not None)
    found = replace(found, outlying=tuple((name, o) for name, o in both if o is not None))
    probe: DataProbe | None = None
    if len(first.book.asked.examples.held) and first.book.asked.examples.target_kind:
        others = (second.book.asked.examples,) if second is not None and len(second.book.asked.examples.held) else ()
        probe = probed(first.book.asked.examples, others, STUDY_SECONDS)
    if second is None or not first.book.rows or not second.book.rows:
        return replace(found, probe=probe)
    overlap, exact = compared(first.book, second.book)
    return replace(found, probe=probe, overlap=overlap, exact=exact, near=nearly(first.book, second.book, exact))


def _shaken(loader: Any) -> Augmentation | str | None:
    """What workers make of one sample; in words, why that could not be seen."""
    try:
        return augmentation(loader)
    except Exception as e:
        return f"the loader's workers could not make its first sample ({type(e).__name__})"


def _not_checked(found: Scan, val: Any, shaken: Any) -> list[NotChecked]:
    missing: list[NotChecked] = []
    stopped = next((x for x in (found.train, found.val) if x is not None and x.ended_by == "interrupted"), None)
    if stopped is not None:
        return [
            NotChecked(
                f"what comes after batch {stopped.batches:,} of the {stopped.name} loader, and the questions to all samples", "the scan was stopped"
            )
        ]
    if val is None:
        missing.append(NotChecked("leakage and differences between training and validation", "no validation loader was given"))
    if found.train.target_kind == "" and found.train.rows:
        missing.append(NotChecked("labels", "no part of the batches holds one target per sample"))
    elif found.probe is None or found.probe.relation is None:
        missing.append(NotChecked("whether labels follow from inputs", "too few samples, or too many classes, to tell by simple means"))
    if isinstance(shaken, str):
        missing.append(NotChecked("whether workers draw random numbers of their own", shaken))
    if found.train.part < 1:
        missing.append(NotChecked("equal samples among all", f"one in {round(1 / found.train.part):,} was compared: there are {found.train.rows:,}"))
    if found.val is not None and found.near is None:
        missing.append(
            NotChecked("samples that are nearly the same in both loaders", "only pictures of 16 by 16 and more, and texts as token ids, are compared")
        )
    return missing


def _known(loader: Any, workers: int | None) -> tuple[int | None, bool, bool]:
    """How many samples there will be; whether batches are made anew each time, in memory of this process; and whether by workers."""
    if not isinstance(loader, DataLoader):
        return None, False, False
    processes = (loader.num_workers if workers is None else workers) > 0
    return (None if isinstance(loader.dataset, IterableDataset) else _length(loader.dataset)), not processes, processes


def _length(loader: Any) -> int | None:
    try:
        return len(loader)
    except TypeError:
        return None
