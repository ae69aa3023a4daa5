"""From a sheet to records: one for each run that the log holds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sickbay.errors import LogError
from sickbay.facts import Facts, Limit, Log, Run, Taken
from sickbay.nouns import Series
from sickbay.record.foreign.choose import Choice, choose
from sickbay.record.foreign.names import PERPLEXITY, meaning, words
from sickbay.record.foreign.runs import Stretch, steps_of, stretches
from sickbay.record.foreign.sheet import Sheet, half
from sickbay.record.reader import Record

OTHER = "column/"
"""Columns that mean nothing to sickbay are kept under this prefix and their own name, to be drawn and to be asked for."""
MOST_OTHERS = 64
SOLVED = 0.99
"""Of the answers: with fewer right ones no loss is exactly 0."""
HUGE = 1e100
"""Larger numbers count as infinite: no single precision reaches them, and their squares are beyond any."""
MOST_VALUES = 50_000
"""A longer series is thinned to every other value, as often as needed; the highest of each stretch and what is not finite stay."""


def records(sheet: Sheet, path: Path, wanted: Mapping[str, str]) -> list[Record]:
    """The runs of one log, in the order of the file. Raises `LogError` if it has nothing that could be judged."""
    choice = choose(sheet, wanted)
    runs = [s for s in stretches(sheet, choice) if len(s.rows)]
    if not runs:
        raise LogError(_nothing(sheet, path))
    # A first line or two before the real beginning (a smoke test, an aborted start) are runs too, but not the ones to judge last.
    return [_record(sheet, choice, stretch, path, k, len(runs)) for k, stretch in enumerate(runs)]


def _nothing(sheet: Sheet, path: Path) -> str:
    if not sheet.columns:
        return f"{path} was read as {sheet.format}, but no numbers with names were found in it: pass the file that your training loop writes its losses to"
    shown = ", ".join(repr(n) for n in list(sheet.columns)[:12]) + (", ..." if len(sheet.columns) > 12 else "")
    return (
        f"{path} was read as {sheet.format}, but none of its columns is recognised as a loss or an accuracy; "
        f"say which one is with --map loss=COLUMN (and --map val=COLUMN). Its columns are: {shown}"
    )


def _record(sheet: Sheet, choice: Choice, stretch: Stretch, path: Path, number: int, count: int) -> Record:
    notes = list(sheet.notes)
    series: dict[str, Series] = {}
    taken = []
    for name, columns in choice.series.items():
        found = _series(sheet, choice, stretch, name, columns)
        if name.startswith("loss/eval"):
            found = _measured_only(found, columns, notes, _solved(sheet, choice, stretch))
        if name.startswith("loss/train"):
            found = _begun_only(found, columns, notes)
        if len(found):
            series[name] = found
            taken.append(Taken(series=name, columns=tuple(sheet.called.get(c, c) for c in columns)))
    _errors_for_losses(series, taken, notes)
    _entropies_for_perplexities(series, taken, notes)
    used = {c for columns in choice.series.values() for c in columns} | {choice.step, choice.epoch}
    unused = tuple(n for n in sheet.columns if n not in used)
    for name in unused[:MOST_OTHERS]:
        other = _series(sheet, choice, stretch, OTHER + name, (name,))
        series |= {other.name: other} if len(other) else {}
    if choice.epoch is not None and stretch.axis != "epoch":
        epochs = _series(sheet, choice, stretch, "epoch", (choice.epoch,))
        series |= {"epoch": epochs} if len(epochs) else {}
        taken.append(Taken(series="epoch", columns=(choice.epoch,)))
    if stretch.resumed:
        notes.append(
            f"the run was resumed {stretch.resumed} time{'s' if stretch.resumed > 1 else ''} from an earlier step; what was trained twice counts as it was trained last"
        )
    if "reward" in series:
        notes.append("the log holds a reward (reinforcement learning): how high the loss is says little beside it")
    elif choice.contested:
        notes.append("the losses work against each other (adversarial training): how high they are says little")
    if stretch.axis == "row":
        notes.append("the log numbers neither steps nor epochs one by one: values are numbered in the order in which they stand")
    log = Log(
        file=str(path),
        format=sheet.format,
        taken=tuple(taken),
        unused=unused[:MOST_OTHERS],
        axis=stretch.axis,
        run=number,
        runs=count,
        values_are_means=_means(choice, stretch),
        contested=choice.contested,
        notes=tuple(notes),
    )
    return Record(facts=Facts(run=_run(stretch, path, series), log=log, limits=tuple(_limits(series, choice))), all_series=series, path=None)


def _series(sheet: Sheet, choice: Choice, stretch: Stretch, name: str, columns: tuple[str, ...]) -> Series:
    rows, values = sheet.columns[columns[0]].arrays()
    for other in columns[1:]:
        others, more = sheet.columns[other].arrays()
        both, at, there = np.intersect1d(rows, others, return_indices=True)
        rows, values = both, values[at] + more[there]
    inside = (rows >= stretch.first) & (rows < stretch.last)
    if not inside.all():
        rows, values = rows[inside], values[inside]
    if np.array_equal(rows, stretch.rows):  # in every row of the training loss
        return _thinned(name, stretch.steps, values)
    rows, values = _fewer(rows, values)
    if name.startswith("loss/train"):
        known = np.isin(rows, stretch.rows)
        if known.any():  # otherwise another loss than the main one: rows of its own
            rows, values = rows[known], values[known]
    return _increasing(name, steps_of(sheet, choice, stretch, rows) if len(rows) else rows, values, rows, stretch)


def _increasing(name: str, steps: NDArray[np.int64], values: NDArray[np.float64], rows: NDArray[np.int64], stretch: Stretch) -> Series:
    exact = np.searchsorted(stretch.rows, rows)
    inside = np.minimum(exact, len(stretch.rows) - 1)
    steps = np.where((exact < len(stretch.rows)) & (stretch.rows[inside] == rows), stretch.steps[inside], steps)
    order = np.argsort(steps, kind="stable")
    steps, values = steps[order], values[order]
    last = np.concatenate([np.diff(steps) > 0, [True]]) if len(steps) else np.empty(0, bool)
    return _thinned(name, steps[last].astype(np.int64), values[last])


def _thinned(name: str, steps: NDArray[np.int64], values: NDArray[np.float64]) -> Series:
    places, values = _fewer(np.arange(len(steps)), values)
    beyond = np.abs(values) > HUGE
    return Series(name, steps[places], np.where(beyond, np.copysign(np.inf, values), values) if beyond.any() else values)


def _fewer(rows: NDArray[np.int64], values: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    while len(rows) > MOST_VALUES:
        chosen = half(rows, values)
        rows, values = rows[chosen], values[chosen]
    return rows, values


def _solved(sheet: Sheet, choice: Choice, stretch: Stretch) -> NDArray[np.int64]:
    """The steps at which every answer of validation was right: a loss of 0 is what it says there."""
    if "accuracy/eval" not in choice.series:
        return np.empty(0, np.int64)
    found = _series(sheet, choice, stretch, "accuracy/eval", choice.series["accuracy/eval"])
    return found.steps[found.values >= SOLVED * (1 if np.nanmax(found.values, initial=0.0) <= 1 else 100)]


def _measured_only(series: Series, columns: tuple[str, ...], notes: list[str], solved: NDArray[np.int64]) -> Series:
    """Zeros stand for "not evaluated", and the first evaluations of some tools are not finite in good runs."""
    values, label = series.values, " + ".join(columns)
    missing = (values == 0) & ~np.isin(series.steps, solved)
    if missing.any() and (missing.all() or missing.sum() < 0.9 * len(values)) and len(values) > 1:
        notes.append(f"{int(missing.sum())} values of {label} are exactly 0, which stands for not evaluated: they were left out")
    else:
        missing[:] = False
    left = np.flatnonzero(~missing)
    finite = np.isfinite(values[left])
    if len(left) and not finite[0] and finite.any():
        early = left[: int(np.argmax(finite))]
        missing[early] = True
        notes.append(f"the first {len(early)} values of {label} are not finite and later ones are: they were left out")
    return Series(series.name, series.steps[~missing], values[~missing])


def _begun_only(series: Series, columns: tuple[str, ...], notes: list[str]) -> Series:
    """A loss that is NaN at first and a number ever after was not measured yet (an agent that fills its memory): weights that are NaN never come back."""
    finite = np.isfinite(series.values)
    begun = int(np.argmax(finite)) if finite.any() else 0
    if begun == 0 or not finite[begun:].all() or begun >= len(finite) / 2:
        return series
    notes.append(f"the first {begun} values of {' + '.join(columns)} are not finite and all later ones are: they were left out")
    return Series(series.name, series.steps[begun:], series.values[begun:])


def _errors_for_losses(series: dict[str, Series], taken: list[Taken], notes: list[str]) -> None:
    """Where a log has accuracies or scores and no loss at all, the errors (what is missing to 1, or to 100) are judged in their place."""
    if any(name.startswith("loss/") for name in series):
        return
    for what, phase in itertools.product(("accuracy", "score"), ("train", "eval")):
        found = series.get(f"{what}/{phase}")
        if found is not None:
            whole = 1.0 if np.nanmax(found.values, initial=0.0) <= 1 else 100.0
            series[f"loss/{phase}"] = Series(f"loss/{phase}", found.steps, whole - found.values)
            taken += [Taken(series=f"loss/{phase}", columns=t.columns) for t in taken if t.series == f"{what}/{phase}"]
    if "loss/train" in series or "loss/eval" in series:
        notes.append("the log has no loss: the error (1 less the accuracy or score) stands for it")


def _entropies_for_perplexities(series: dict[str, Series], taken: list[Taken], notes: list[str]) -> None:
    """Where one phase is told as a perplexity and the other as a loss: the logarithm of a perplexity is that loss."""
    told = {t.series: bool(PERPLEXITY & set(words(t.columns[0]))) for t in taken if t.series.startswith("loss/") and len(t.columns) == 1}
    if len(set(told.values())) < 2:
        return
    for name, perplexity in told.items():
        found = series[name]
        if perplexity and bool(np.all(found.values[np.isfinite(found.values)] >= 1)):
            series[name] = Series(name, found.steps, np.log(found.values))
            notes.append(f"{next(t.columns[0] for t in taken if t.series == name)} is a perplexity: its logarithm is compared with the other loss")


def _means(choice: Choice, stretch: Stretch) -> bool:
    columns = choice.series.get("loss/train", ("",))
    spacing = float(np.median(np.diff(stretch.steps))) if len(stretch.steps) > 1 else 1.0
    return stretch.axis == "epoch" or meaning(columns[0]).grain == "epoch" or (stretch.axis == "step" and spacing > 1)


def _run(stretch: Stretch, path: Path, series: Mapping[str, Series]) -> Run:
    steps = int(max(len(stretch.steps), stretch.steps[-1] - min(0, int(stretch.steps[0]))))
    epochs = series.get("epoch")
    finite = epochs.values[np.isfinite(epochs.values)] if epochs is not None else np.empty(0)
    if stretch.axis == "epoch":
        return Run(script=str(path), steps=len(stretch.steps), epochs=len(stretch.steps), steps_per_epoch=1.0)
    passed = _epochs(finite)
    return Run(script=str(path), steps=steps, epochs=passed, steps_per_epoch=steps / passed if passed else None)


def _epochs(values: NDArray[np.float64]) -> int:
    """How many epochs were trained: numbered from 0, from 1, or told in fractions (which are passed epochs)."""
    if len(values) == 0 or values.max() > 1e9 or values.min() < 0:
        return 0
    if np.any(values != np.round(values)):
        return round(float(values.max()))
    return int(values.max()) + (1 if values.min() == 0 else 0)


def _limits(series: Mapping[str, Series], choice: Choice) -> Iterator[Limit]:
    why = "a log holds curves only: the program, its layers and its data were not seen; `sickbay run` on the script sees them"
    yield Limit(what="causes that lie in the code, the model or the data", why=why)
    if "grad_norm" not in series:
        yield Limit(what="whether gradients explode or vanish", why="the log has no gradient norm: log it, or use `sickbay run`")
    if "lr" not in series:
        yield Limit(what="the learning rate and its schedule", why="the log has no learning rate: log it, or use `sickbay run`")
    if "loss/train" not in series:
        yield Limit(what="whether training itself goes well", why="the log has no training loss: log it too")
