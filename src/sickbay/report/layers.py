"""By layer: heat maps over steps, and the tables of parameters, activations and modules."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sickbay.facts import Parameter
from sickbay.nouns import Family, Series
from sickbay.record.reader import Record
from sickbay.report import words

T = TypeVar("T")

HEAT_ROWS = 320
HEAT_COLUMNS = (140, 60)
"""Columns of the first map and of the others: 320 rows of all four maps are 270 kB of the report's 1 MB."""
TABLE_ROWS = 300
RATIO_DECADES = (-8.0, 0.0)
"""The axis of the update-ratio column."""


@dataclass(frozen=True, slots=True)
class HeatMap:
    key: str
    title: str
    rows: tuple[str, ...]
    steps: tuple[int, ...]
    values: tuple[tuple[float, ...], ...]
    """By row; NaN where not measured, infinity where the value was not finite."""
    caption: str


@dataclass(frozen=True, slots=True)
class Ratio:
    """An update-to-weight ratio over the run, on a logarithmic axis from 0 (1e-8) to 1 (1e0)."""

    low: float
    middle: float
    high: float
    text: str
    value: float


@dataclass(frozen=True, slots=True)
class ParameterRow:
    name: str
    shape: str
    size: int
    gradient: float | None
    gradient_text: str
    update: Ratio | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ActivationRow:
    name: str
    mean: str
    std: str
    dead: float | None
    saturated: float | None
    zero: float | None


@dataclass(frozen=True, slots=True)
class LayerRow:
    name: str
    kind: str
    leaf: bool
    parameters: int
    share: float
    notes: tuple[str, ...]


HEAT_MAPS = (
    ("grad_norm", "Gradient norm", "largest gradient norm of each parameter tensor within a column"),
    ("update_ratio", "Update ratio", "update size relative to the weights"),
    ("weight_norm", "Weight norm", "norm of each weight tensor"),
    ("activation_std", "Activation spread", "standard deviation of what each layer puts out"),
)


def heat_maps(record: Record) -> tuple[HeatMap, ...]:
    made = [_heat_map(record, *names, columns=HEAT_COLUMNS[i > 0]) for i, names in enumerate(HEAT_MAPS)]
    return tuple(m for m in made if m is not None)


def _heat_map(record: Record, key: str, title: str, caption: str, *, columns: int) -> HeatMap | None:
    family = record.family(key)
    if not family.names or not len(family.steps):
        return None
    values = _with_nonfinite(record, family)
    edges = np.unique(np.linspace(0, len(family.steps), min(columns, len(family.steps)) + 1).astype(np.intp))
    table = np.stack([_largest(values[a:b], axis=0) for a, b in pairwise(edges)], axis=1)
    names = [words.clean(n) for n in family.names]
    if len(names) > HEAT_ROWS:
        groups = np.unique(np.linspace(0, len(names), HEAT_ROWS + 1).astype(np.intp))
        spans = list(pairwise(groups))
        table = np.stack([_largest(table[a:b], axis=0) for a, b in spans])
        names = [names[a] if b - a == 1 else f"{names[a]} to {names[b - 1]}" for a, b in spans]
    return HeatMap(
        key=key,
        title=title,
        rows=tuple(names),
        steps=tuple(int(family.steps[a]) for a in edges[:-1]),
        values=tuple(tuple(float(v) for v in row) for row in table),
        caption=words.sentence(f"{caption}; {words.count(len(family.names), 'row')}, {words.count(len(family.steps), 'sampled step')}"),
    )


def _largest(values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Like nanmax, and NaN without a warning where nothing was measured."""
    top = np.max(np.where(np.isnan(values), -np.inf, values), axis=axis)
    return np.where(np.isneginf(top), np.nan, top)


def _with_nonfinite(record: Record, family: Family) -> NDArray[np.float64]:
    """A family has NaN both for "not measured" and for NaN itself. At a step whose loss or whole gradient norm was
    not finite it is the second: shown as infinity, so that it is drawn as broken and not left blank."""
    broken = np.zeros(len(family.steps), dtype=bool)
    for series in (*record.series_like("grad_norm"), *record.series_like("loss/train")):
        broken |= np.isin(family.steps, series.steps[~np.isfinite(series.values)])
    missing = np.isnan(family.values)
    unknown_layer = missing.all(axis=0, keepdims=True)
    empty_step = missing.all(axis=1, keepdims=True)
    nan_itself = missing & broken[:, None] & (~unknown_layer | empty_step)
    return np.where(nan_itself | np.isinf(family.values), np.inf, family.values)


def parameter_rows(record: Record) -> tuple[tuple[ParameterRow, ...], int]:
    """Rows for the table, those with something to say kept first when there are too many; and how many were left out."""
    gradients, updates = record.family("grad_norm"), record.family("update_ratio")
    facts = {p.name: p for p in record.facts.parameters}
    names = list(dict.fromkeys((*facts, *gradients.names, *updates.names)))
    g, u = _columns(gradients), _columns(updates)
    rows = [_parameter_row(facts.get(n) or Parameter(name=n), g.get(n), u.get(n), bool(facts)) for n in names]
    return _fit(rows, [bool(r.notes) for r in rows])


def _fit(rows: list[T], noted: list[bool]) -> tuple[tuple[T, ...], int]:
    if len(rows) <= TABLE_ROWS:
        return tuple(rows), 0
    order = sorted(range(len(rows)), key=lambda i: (not noted[i], i))[:TABLE_ROWS]
    return tuple(rows[i] for i in sorted(order)), len(rows) - TABLE_ROWS


def _columns(family: Family) -> dict[str, NDArray[np.float64]]:
    return {name: family.values[:, j] for j, name in enumerate(family.names)} if len(family.steps) else {}


def _parameter_row(p: Parameter, gradient: NDArray[np.float64] | None, update: NDArray[np.float64] | None, known: bool) -> ParameterRow:
    middle = _median(gradient)
    return ParameterRow(
        name=words.clean(p.name),
        shape=words.shape(p.shape) if p.shape or p.size else "",
        size=p.size,
        gradient=middle,
        gradient_text="" if middle is None else words.number(middle),
        update=_ratio(update),
        notes=_parameter_notes(p) if known else (),
    )


def _parameter_notes(p: Parameter) -> tuple[str, ...]:
    notes = []
    if not p.trainable:
        notes.append("frozen")
    if not p.in_model:
        notes.append(f"replaced by {words.clean(p.replaced_by)}" if p.replaced_by else "in no model")
    elif not p.called:
        notes.append("never called")
    if p.trainable and p.optimizer is None:
        notes.append("in no optimizer")
    if p.trainable and p.reached is False:
        notes.append("no gradient")
    if p.trainable and p.moved is False:
        notes.append("never moved")
    return tuple(notes)


def _median(values: NDArray[np.float64] | None) -> float | None:
    good = values[np.isfinite(values)] if values is not None else np.empty(0)
    return float(np.median(good)) if len(good) else None


def _ratio(values: NDArray[np.float64] | None) -> Ratio | None:
    good = values[np.isfinite(values)] if values is not None else np.empty(0)
    if not len(good):
        return None
    low, middle, high = (float(v) for v in np.quantile(good, (0.1, 0.5, 0.9)))
    return Ratio(_on_axis(low), _on_axis(middle), _on_axis(high), words.number(middle), middle)


def _on_axis(value: float) -> float:
    a, b = RATIO_DECADES
    return min(1.0, max(0.0, (math.log10(value) - a) / (b - a))) if value > 0 else 0.0


def activation_rows(record: Record) -> tuple[tuple[ActivationRow, ...], int]:
    """The latest measurement of each activation site."""
    fields = ("mean", "std", "dead", "saturated", "zero")
    by_field = {f: _columns(record.family(f"activation_{f}")) for f in fields}
    names = list(dict.fromkeys(n for f in fields for n in by_field[f]))
    rows, noted = [], []
    for name in names:
        now = {f: _latest(by_field[f].get(name)) for f in fields}
        dead, saturated, zero = (now[f] for f in ("dead", "saturated", "zero"))
        mean, std = ("" if v is None else words.number(v) for v in (now["mean"], now["std"]))
        rows.append(ActivationRow(words.clean(name), mean, std, _share(dead), _share(saturated), _share(zero)))
        noted.append((dead or 0) > 0.5 or (saturated or 0) > 0.5)
    return _fit(rows, noted)


def _latest(values: NDArray[np.float64] | None) -> float | None:
    good = values[np.isfinite(values)] if values is not None else np.empty(0)
    return float(good[-1]) if len(good) else None


def _share(value: float | None) -> float | None:
    return None if value is None else min(1.0, max(0.0, value))


def layer_rows(record: Record) -> tuple[tuple[LayerRow, ...], int]:
    rows = []
    uncalled = _uncalled(record)
    for model in record.facts.models:
        total = sum(layer.parameters for layer in model.layers) or 1
        for layer in model.layers:
            notes = ["never called"] if layer.name in uncalled else []
            notes += ["frozen"] if layer.parameters and not layer.trainable else []
            notes += ["differs by train and eval mode"] if layer.mode_sensitive else []
            name = words.clean(layer.name or model.name)
            rows.append(LayerRow(name, words.clean(layer.kind), layer.leaf, layer.parameters, layer.parameters / total, tuple(notes)))
    return _fit(rows, [bool(r.notes) for r in rows])


def _uncalled(record: Record) -> set[str]:
    """Layers with weights of which no forward pass used any; of others it is not known."""
    used = {p.layer for p in record.facts.parameters if p.called}
    return {p.layer for p in record.facts.parameters if p.in_model} - used


def time_shares(record: Record) -> tuple[tuple[str, float], ...]:
    """Where the time of a step went: (phase, share), largest first; empty if steps were not timed."""
    means = {phase: _mean(record.series(f"time/{phase}")) for phase in ("data", "forward", "backward", "optimizer", "own")}
    whole = max(_mean(record.series("time/step")), sum(means.values()))
    if whole <= 0:
        return ()
    shares = {**means, "the rest of the step": whole - sum(means.values())}
    named = [("sickbay's own" if k == "own" else k, v / whole) for k, v in shares.items() if v / whole >= 0.001]
    return tuple(sorted(named, key=lambda pair: -pair[1]))


def _mean(series: Series) -> float:
    good = series.values[np.isfinite(series.values)]
    return float(good.mean()) if len(good) else 0.0
