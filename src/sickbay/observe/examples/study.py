"""The questions at the end of a run, to what was kept of its samples."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sickbay import facts
from sickbay.observe.examples.across import across
from sickbay.observe.examples.book import Book
from sickbay.observe.examples.columns import best_column, copied_number
from sickbay.observe.examples.copies import near_copies
from sickbay.observe.examples.noise import suspects
from sickbay.observe.examples.offsets import offset
from sickbay.observe.examples.outlying import outlying
from sickbay.observe.examples.relation import FEWEST_ROWS, Views, like_noise, relation
from sickbay.observe.examples.renamed import renamed
from sickbay.observe.examples.rows import SERIES, TABLE
from sickbay.observe.examples.scores import Scores, calibration
from sickbay.observe.examples.targets import CLASSES, NUMBERS
from sickbay.observe.numbers import Array
from sickbay.observe.places import expression_of, place_of
from sickbay.observe.syntax import operands

if TYPE_CHECKING:
    from sickbay.observe.examples.watch import ExampleWatch

SECONDS = 1.5
"""That the questions may take: no further one is asked after this long."""
RELATED = 5.0
"""Spreads beyond chance from which targets follow from inputs, so that single samples and columns can be looked at."""
CLEAN = 0.98
"""...from which too few labels can be wrong to matter."""
FITS = 0.8
"""Share of targets that are told right, from which they are where they belong."""


def studied(watch: ExampleWatch) -> facts.DataProbe | None:
    """What the sample of the training data shows; None where there is none, or no single target per sample."""
    sure = tuple(told for key, scores in watch.scores.evaluations.items() if (told := _calibrated(watch, key, scores)) is not None)
    usable = [b for b in watch.training.values() if b.usable and len(b.held) and b.target_kind]
    if not usable:
        return facts.DataProbe(calibration=sure) if sure else None
    book = max(usable, key=lambda b: len(b.held))
    others = [b for b in watch.evaluations.values() if len(b.held) and b.target_kind]
    found = probed(book, others)
    keep = watch.session.keep_source
    text = expression_of(*book.aim) if book.aim is not None else ""
    return replace(
        found,
        place=keep(place_of(*book.aim)) if book.aim is not None else None,
        target=operands(text)[1] if text else "",
        calibration=sure,
        evaluations=tuple(_placed(watch, b, told) for b, told in zip(others, found.evaluations, strict=False)),
    )


def probed(book: Book, others: Sequence[Book], seconds: float = SECONDS) -> facts.DataProbe:
    """The questions to one book of training samples, and to the books of what was evaluated."""
    started = time.process_time()
    rows, y = _known(book)
    views = Views(book.held.rows()[rows], book.kind) if len(rows) >= FEWEST_ROWS else None
    classes = book.target_kind == CLASSES
    found = relation(views, y, classes) if views is not None else None
    fact = facts.DataProbe(
        kind=book.kind,
        targets=book.target_kind,
        classes=len(np.unique(y)) if classes else 0,
        features=book.held.numbers.shape[1],
        loader=book.loader,
        relation=found,
        outlying=outlying(book),
        again=book.again,
        changed=book.changed,
        variance=0.0 if classes or not len(y) else float(y.var()),
        noise_inputs=views is not None and like_noise(views.x),
    )
    if views is None or found is None:
        return fact
    if book.indexed and found.score < FITS:
        shift = offset(views, book.held.column("index")[rows], book.by_index, book.batch_size, classes, found)
        if shift is not None or found.beyond < RELATED:
            return replace(fact, offset=shift, evaluations=_evaluations(others, book))
    if found.beyond < RELATED:
        return replace(fact, evaluations=_evaluations(others, book))
    column = _telling(book, rows, y, classes)
    in_time = classes and found.score < CLEAN and time.process_time() - started < seconds
    odd = suspects(views, y, book.held.column("index")[rows]) if in_time else None
    return replace(fact, column=column, suspects=odd, evaluations=_evaluations(others, book))


def _telling(book: Book, rows: Array, y: Array, classes: bool) -> facts.Column | None:
    """The one number of a sample that tells the target by itself."""
    if book.kind == TABLE:
        return best_column(book.held.rows()[rows], book.table, y, classes)
    return copied_number(book.held.rows()[rows], y) if book.kind == SERIES and not classes else None


def _calibrated(watch: ExampleWatch, key: Any, scores: Scores) -> facts.Calibration | None:
    told = calibration(scores)
    if told is None or key[0] is None:
        return told
    texts = tuple(expression_of(*k)[:200] for k in key if k is not None)
    return replace(told, place=watch.session.keep_source(place_of(*key[0])), texts=texts)


def _evaluations(others: Sequence[Book], book: Book) -> tuple[facts.EvaluatedExamples, ...]:
    return tuple(_evaluated(other, book) for other in others)


def _known(book: Book) -> tuple[Array, Array]:
    """The samples whose target is known, equal ones once, and the targets."""
    target = book.held.column("target")
    rows = np.flatnonzero(np.isfinite(target))
    rows = np.sort(rows[np.unique(book.held.column("key")[rows], return_index=True)[1]])
    return rows, target[rows]


def _evaluated(book: Book, trained: Book) -> facts.EvaluatedExamples:
    rows, y = _known(book)
    numbers = book.held.rows()[rows]
    classes = book.target_kind == trained.target_kind == CLASSES and book.kind == trained.kind
    told = book.target_kind == trained.target_kind == NUMBERS and book.kind == trained.kind and book.kind in (TABLE, SERIES)
    known, y_trained = _known(trained)
    return facts.EvaluatedExamples(
        loader=book.loader,
        relation=relation(Views(numbers, book.kind), y, book.target_kind == CLASSES) if len(rows) >= FEWEST_ROWS else None,
        renamed=renamed(trained.held.rows()[known], y_trained, numbers, y, book.kind) if classes else None,
        copies=near_copies(trained.held.rows()[known], y_trained if classes else None, numbers, book.kind) if book.kind == trained.kind else None,
        across=across(trained.held.rows()[known], y_trained, numbers, y) if told else None,
    )


def _placed(watch: ExampleWatch, book: Book, told: facts.EvaluatedExamples) -> facts.EvaluatedExamples:
    """With the lines that showed the model its samples."""
    keep = watch.session.keep_source
    return replace(
        told,
        place=keep(place_of(*book.place)) if book.place is not None else None,
        called_from=keep(place_of(*book.caller)) if book.caller is not None else None,
    )
