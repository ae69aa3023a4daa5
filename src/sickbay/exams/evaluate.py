"""`sickbay.evaluate(model, loader)`: how good a model is, how sure that is, what a constant would score, and where it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sickbay.errors import UsageError
from sickbay.exams.evaluate_classes import ClassTally
from sickbay.exams.evaluate_labels import Labels
from sickbay.exams.evaluate_numbers import Numbers, patterns
from sickbay.exams.evaluate_slices import slice_scores
from sickbay.exams.evaluate_task import Tally
from sickbay.exams.passes import Answered, answers, left_alone, shuffles
from sickbay.facts.evaluated import Evaluated, SliceScore

Array = NDArray[Any]
Column = Callable[[Any], Any]
WORST = 10


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What was found: prints itself, shows itself in a notebook, and can be written as a page or a document."""

    found: Evaluated

    def __str__(self) -> str:
        from sickbay.report.evaluation_page import text

        return text(self.found)

    def __repr__(self) -> str:
        from sickbay.report.evaluation_words import statement

        return f"<sickbay evaluation: {statement(self.found)}>"

    def _repr_html_(self) -> str:
        from sickbay.report.evaluation_html import fragment

        return fragment(self.found)

    def to_dict(self) -> dict[str, Any]:
        """The document that `sickbay evaluate --json` writes."""
        from sickbay.report.evaluation_document import build

        return build(self.found)

    def save(self, file: Path | str) -> None:
        """Write the page that `sickbay evaluate -o` writes."""
        from sickbay.report.evaluation_html import render

        Path(file).write_text(render(self.found), encoding="utf-8")


def evaluate(
    model: Callable[..., Any],
    loader: Iterable[Any],
    *,
    loss_fn: Callable[[Any, Any], torch.Tensor] | None = None,
    slices: str | Column | Sequence[str | Column] | Mapping[str, str | Column] | None = None,
    class_names: Sequence[str] | None = None,
    samples: bool = False,
) -> Evaluation:
    """Judge a model by every sample that the loader gives: batches of (inputs, target), or dicts with the model's arguments and "labels" or "target".

    `slices` are columns of the batch, by name, or functions of a batch that give a value per sample: parts on which the model is worse are told. With
    `samples`, the samples with the largest loss are listed. The model's mode, and every random generator, are as they were afterwards.
    """
    columns = _columns(slices)
    book = _Book(columns, type(loss_fn).__name__ if loss_fn is not None else "")
    with left_alone(model, loader):
        for answered in answers(model, loader, reserved=[c for c in columns.values() if isinstance(c, str)]):
            book.add(answered, loss_fn)
    return Evaluation(book.found(class_names, samples, loader))


class _Book:
    """What all batches gave."""

    def __init__(self, columns: dict[str, str | Column], loss: str) -> None:
        self.tally = Tally(loss)
        self.columns = columns
        self.values: dict[str, list[Any]] = {name: [] for name in columns}
        self.rows = 0
        self.losses: list[tuple[float, int]] = []

    def add(self, answered: Answered, loss_fn: Callable[[Any, Any], torch.Tensor] | None) -> None:
        rows = len(answered.target)
        self.rows += rows
        if loss_fn is not None:
            loss = loss_fn(answered.output, answered.target.to(answered.output.device))
            self.losses.append((float(loss.float().mean()), rows))
        for name, column in self.columns.items():
            self.values[name] += _values(name, column, answered, rows)
        self.tally.add(answered.output, answered.target)

    def found(self, names: Sequence[str] | None, samples: bool, loader: Any) -> Evaluated:
        judged = self.tally.judged()
        told = (
            _classes(judged, names)
            if isinstance(judged, ClassTally)
            else _labels(judged, names)
            if isinstance(judged, Labels)
            else _numbers(judged, names)
        )
        notes = [*self.tally.notes, *told.pop("notes", ())]
        if samples and shuffles(loader):
            notes.append("the loader shuffles: indices are places in this pass, not in the data set")
        numbers = isinstance(judged, Numbers)
        worst = (judged.worst(WORST) if isinstance(judged, Numbers) else judged.worst(_names(names, _size(judged)), WORST)) if samples else ()
        return Evaluated(
            **told,
            unit=self.tally.unit,
            samples=self.rows,
            loss=sum(v * n for v, n in self.losses) / self.rows if self.losses else None,
            read_as="" if numbers else "probabilities" if self.tally.probabilities else "logits",
            slice_score="mean absolute error" if numbers else "accuracy" if isinstance(judged, ClassTally) else "labels that are right",
            slices=self._slices(judged),
            worst=worst,
            notes=tuple(notes),
        )

    def _slices(self, judged: ClassTally | Labels | Numbers) -> tuple[SliceScore, ...]:
        if isinstance(judged, Numbers):
            return slice_scores(self.values, judged.off, larger_is_better=False, shares=False)
        single = isinstance(judged, ClassTally) and judged.single
        return slice_scores(self.values, judged.right, larger_is_better=True, shares=single)


def _classes(judged: ClassTally, names: Sequence[str] | None) -> dict[str, Any]:
    known = _names(names, judged.classes)
    notes = []
    if not judged.total:
        raise UsageError("no target is the number of a class: there is nothing to evaluate")
    if judged.left_out:
        notes.append(f"{judged.left_out:,} targets are no class (such as an ignored index) and were left out")
    if judged.nonfinite:
        notes.append(f"{judged.nonfinite:,} answers are NaN or infinite; they count as wrong")
    return {
        "task": "classes",
        "counted": judged.total,
        "score": judged.accuracy(),
        "more": judged.more(),
        "standing": judged.standing(),
        "classes": judged.table(known),
        "confusion": judged.confusion(),
        "confused": judged.confused(known),
        "reliability": judged.reliability(),
        "notes": notes,
    }


def _labels(judged: Labels, names: Sequence[str] | None) -> dict[str, Any]:
    score = judged.score()
    return {
        "task": "labels",
        "counted": len(judged.given),
        "score": score,
        "more": judged.more(),
        "standing": judged.standing(score),
        "classes": judged.table(_names(names, judged.given.shape[1])),
        "reliability": judged.reliability(),
    }


def _numbers(judged: Numbers, names: Sequence[str] | None) -> dict[str, Any]:
    if not len(judged.index):
        raise UsageError("no sample has a finite prediction and a finite target: there is nothing to evaluate")
    columns = judged.given.shape[1]
    residuals = judged.residuals()
    notes = patterns(residuals, len(judged.index)) if residuals is not None else []
    if judged.left_out:
        notes.append(f"{judged.left_out:,} samples with a NaN or infinity were left out")
    return {
        "task": "numbers",
        "counted": len(judged.index),
        "score": judged.score(),
        "more": judged.more(),
        "standing": judged.standing(),
        "outputs": judged.table(_names(names, columns)) if columns > 1 else (),
        "residuals": residuals,
        "notes": notes,
    }


def _names(names: Sequence[str] | None, size: int) -> Sequence[str]:
    if names is None:
        return [str(i) for i in range(size)]
    if len(names) != size:
        raise UsageError(f"{len(names)} class names were given, but the model has {size} outputs")
    return [str(n) for n in names]


def _size(judged: ClassTally | Labels) -> int:
    return judged.classes if isinstance(judged, ClassTally) else int(judged.given.shape[1])


def _columns(slices: Any) -> dict[str, str | Column]:
    if slices is None:
        return {}
    if isinstance(slices, Mapping):
        return dict(slices)
    several = [slices] if isinstance(slices, str) or callable(slices) else list(slices)
    return {s if isinstance(s, str) else getattr(s, "__name__", f"slice {i + 1}"): s for i, s in enumerate(several)}


def _values(name: str, column: str | Column, answered: Answered, rows: int) -> list[Any]:
    """One value per sample of a batch."""
    if callable(column):
        found = column(answered.batch)
    elif isinstance(answered.batch, Mapping) and column in answered.batch:
        found = answered.batch[column]
    elif column in answered.columns:
        found = answered.columns[column]
    else:
        known = list(answered.batch) if isinstance(answered.batch, Mapping) else list(answered.columns)
        raise UsageError(f"a batch has no column {column!r} to slice by; it has {', '.join(map(str, known)) or 'only inputs and targets'}")
    values = found.detach().cpu().tolist() if isinstance(found, torch.Tensor) else found.tolist() if isinstance(found, np.ndarray) else list(found)
    if len(values) != rows or any(isinstance(v, (list, dict)) for v in values):
        raise UsageError(f"slice {name!r} gives {len(values)} values for {rows} samples: one plain value per sample is expected")
    return values
