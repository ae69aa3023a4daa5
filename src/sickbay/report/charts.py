"""Chart data: series thinned to what a screen can show, with their extremes and their non-finite steps kept."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sickbay.nouns import Diagnosis, Family, Series, Suspicion
from sickbay.record.reader import Record
from sickbay.report import words

POINTS = 600
"""Points of a series that are all drawn; a longer one is drawn by the medians of its stretches, within their extremes."""
STRETCHES = 300
LINES = 8
"""Lines per chart. More than eight cannot be told apart by colour."""
HEALTHY_UPDATE = (1e-4, 1e-2)
"""The band around 1e-3, where the update-to-weight ratio of a healthy layer lies (CATALOGUE: 1e-6 glacial, 1e-1 unstable)."""

Role = Literal["train", "eval", "plain", "soft"]


@dataclass(frozen=True, slots=True)
class Line:
    label: str
    role: Role
    steps: tuple[int, ...]
    values: tuple[float | None, ...]
    """None where the value was not finite. Medians of stretches when the series is longer than a chart is wide."""
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()
    """Smallest and largest of each stretch, so that no spike is lost; empty when every value is drawn."""
    nonfinite: tuple[int, ...] = ()
    """Steps with NaN or infinity, at most 40 of them, evenly picked."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Steps that matter, for a reason."""

    first: int
    last: int
    label: str
    rank: int
    """Of the cause it speaks for, from 1; 0 for none."""


@dataclass(frozen=True, slots=True)
class Chart:
    key: str
    title: str
    caption: str
    """What the chart shows, in words: also read out where the drawing cannot be seen."""
    lines: tuple[Line, ...]
    log: bool
    """Starts with a logarithmic scale."""
    band: tuple[float, float] | None = None
    """Where healthy values lie."""
    axis: str = "step"
    """What is counted from left to right."""


def decimate(series: Series) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Steps, medians, lows and highs of stretches. A short series comes back as it is, without lows and highs."""
    n = len(series)
    if n <= POINTS:
        nothing = np.empty(0)
        return series.steps, series.values, nothing, nothing
    edges = np.linspace(0, n, STRETCHES + 1).astype(np.intp)
    rows = np.full((STRETCHES, 3), np.nan)
    for i, (start, stop) in enumerate(pairwise(edges)):
        part = series.values[start:stop]
        part = part[np.isfinite(part)]
        if len(part):
            rows[i] = np.median(part), part.min(), part.max()
    # The ends keep their own steps, so that the chart is as long as the run.
    middles = series.steps[(edges[:-1] + edges[1:] - 1) // 2].copy()
    middles[0], middles[-1] = series.steps[0], series.steps[-1]
    return middles, rows[:, 0], rows[:, 1], rows[:, 2]


def line(label: str, role: Role, series: Series) -> Line:
    broken = series.steps[~np.isfinite(series.values)]
    if len(broken) > 40:
        broken = broken[np.linspace(0, len(broken) - 1, 40).astype(np.intp)]
    steps, middle, low, high = decimate(series)
    return Line(
        label=words.clean(label),
        role=role,
        steps=tuple(int(s) for s in steps),
        values=_plain(middle),
        low=_plain(low),
        high=_plain(high),
        nonfinite=tuple(int(s) for s in broken),
    )


def _plain(values: NDArray[np.float64]) -> tuple[float | None, ...]:
    return tuple(float(f"{v:.4g}") if math.isfinite(v) else None for v in values)


def course(series: Series) -> str:
    """ "2.31 at step 0, 0.41 at step 119, lowest 0.38 at step 104"."""
    if not len(series):
        return "nothing recorded"
    first, last = series.values[0], series.values[-1]
    text = f"{words.number(first)} at step {series.steps[0]:,}"
    if len(series) == 1:
        return text
    text += f", {words.number(last)} at step {series.steps[-1]:,}"
    finite = np.isfinite(series.values)
    if finite.any() and not finite.all():
        bad = int(np.argmin(finite))
        text += f", not finite from step {series.steps[bad]:,}" if not finite[bad:].any() else f", not finite at step {series.steps[bad]:,}"
    if finite.any():
        low = int(np.argmin(np.where(finite, series.values, np.inf)))
        if low not in (0, len(series) - 1):
            text += f", lowest {words.number(series.values[low])} at step {series.steps[low]:,}"
    return text


def _named(record: Record, stem: str, label: str, role: Role) -> list[tuple[Series, Line]]:
    found = [s for s in record.series_like(stem) if len(s)]
    return [(s, line(label if len(found) == 1 else f"{label} {i + 1}", role, s)) for i, s in enumerate(found[:LINES])]


def _chart(key: str, title: str, pairs: Iterable[tuple[Series, Line]], *, log: bool) -> Chart | None:
    pairs = list(pairs)
    if not pairs:
        return None
    caption = "; ".join(f"{drawn.label}: {course(series)}" for series, drawn in pairs[:4])
    return Chart(key, title, words.sentence(caption), tuple(drawn for _, drawn in pairs), log)


def _spread(values: NDArray[np.float64]) -> float:
    """Decades between the smallest and the largest positive value."""
    good = values[np.isfinite(values) & (values > 0)]
    return float(np.log10(good.max() / good.min())) if len(good) else 0.0


def _updates(record: Record) -> Chart | None:
    family = record.family("update_ratio")
    if not family.names or not len(family.steps):
        return None
    low, middle, high = across(family, (0.0, 0.5, 1.0))
    if not len(middle):  # every update was NaN
        return None
    lines = (line("largest", "soft", high), line("median", "plain", middle), line("smallest", "soft", low))
    middle_now = words.number(middle.values[-1])
    caption = (
        f"Size of each update relative to the weights it changes, across {words.count(len(family.names), 'parameter tensor')}: "
        f"median {middle_now} at step {middle.steps[-1]:,}. About 0.001 is healthy; the band spans 0.0001 to 0.01."
    )
    return Chart("updates", "Update-to-weight ratio", caption, lines, True, HEALTHY_UPDATE)


def across(family: Family, quantiles: tuple[float, ...]) -> list[Series]:
    """Quantiles over the layers, step by step; steps at which nothing finite was measured are left out."""
    finite = np.isfinite(family.values)
    measured = finite.any(axis=1)
    values = np.where(finite, family.values, np.nan)[measured]
    rows = np.nanquantile(values, quantiles, axis=1) if len(values) else np.empty((len(quantiles), 0))
    return [Series(f"{family.name} q{q:g}", family.steps[measured], row) for q, row in zip(quantiles, rows, strict=True)]


ACTIVATIONS: tuple[tuple[str, str, Role], ...] = (
    ("activation_dead", "dead units", "train"),
    ("activation_saturated", "saturated", "eval"),
    ("activation_zero", "zeros", "soft"),
)


def _activations(record: Record) -> Chart | None:
    pairs = []
    for name, label, role in ACTIVATIONS:
        family = record.family(name)
        if family.names and len(family.steps):
            worst = across(family, (1.0,))[0]
            pairs.append((worst, line(label, role, worst)))
    return _chart("activations", "Activation health, worst layer", pairs, log=False)


def charts(record: Record) -> tuple[Chart, ...]:
    """All curves that the record has data for, the loss first."""
    losses = _named(record, "loss/train", "train", "train") + _named(record, "loss/eval", "validation", "eval")
    finite = np.concatenate([s.values for s, _ in losses]) if losses else np.empty(0)
    positive = bool(len(finite)) and not (finite[np.isfinite(finite)] <= 0).any()
    norms = _named(record, "grad_norm", "after clipping" if len(record.series("clip_norm")) else "gradient norm", "plain")
    rates = _named(record, "lr", "learning rate", "plain")
    made = (
        _chart("loss", "Loss", losses, log=positive and _spread(finite) > 2),
        _chart(
            "accuracy",
            "Accuracy",
            _named(record, "accuracy/train", "train", "train") + _named(record, "accuracy/eval", "validation", "eval"),
            log=False,
        ),
        _chart("gradient", "Gradient norm, all parameters", norms + _named(record, "clip_norm", "before clipping", "soft"), log=True),
        _updates(record),
        _activations(record),
        _chart("lr", "Learning rate", rates, log=bool(rates) and _spread(np.concatenate([s.values for s, _ in rates])) > 1.5),
    )
    return tuple(chart for chart in made if chart is not None)


def marks(cause: Suspicion, rank: int, diagnosis: Diagnosis, record: Record) -> tuple[Mark, ...]:
    """The steps that this cause's evidence, and the signs of the whole run that it explains, speak of, in their order.

    A span that is the whole run marks nothing; what begins at nearly the same step shares a mark.
    """
    related = set(cause.consequences) | cause.explains
    of_the_run = {None, *record.all_series}
    spans = [(s.steps, words.plain(s.name)) for s in diagnosis.signs if s.name in related and s.where in of_the_run]
    spans += [(e.steps, words.plain(cause.cause)) for e in cause.evidence if e.steps and e.kind != "against"]
    whole = max(1, diagnosis.run.steps - 1)
    found: list[Mark] = []
    for (first, last), label in sorted(spans, key=lambda pair: pair[0]):
        if last - first >= 0.9 * whole:
            continue
        if found and first - found[-1].first <= 0.02 * whole:
            found[-1] = _shared(found[-1], int(last), label, words.plain(cause.cause))
        else:
            found.append(Mark(int(first), int(last), label, rank))
    return tuple(found[:4])


def _shared(mark: Mark, last: int, label: str, cause: str) -> Mark:
    """Signs say more than the name of the cause whose chart this is; three names are too many."""
    names = [name for name in dict.fromkeys((*mark.label.split(", "), label)) if name != cause] or [cause]
    return replace(mark, last=max(mark.last, last), label=", ".join(names[:2]))


TOPICS = (
    (("gradient",), "gradient"),
    (("update-ratio", "slow-descent"), "updates"),
    (("dead-units", "saturated-units", "activation"), "activations"),
    (("chance-level", "majority-level"), "accuracy"),
)
"""Which chart shows a sign best, besides the loss: by words in the sign's name."""


def second_chart(cause: Suspicion, diagnosis: Diagnosis, available: Iterable[str]) -> str | None:
    """The chart, besides the loss, that shows this cause best; None if no sign of it points at one."""
    seen = [s.name for s in sorted(diagnosis.signs, key=lambda s: -s.strength) if s.name in set(cause.consequences) | cause.explains]
    keys = set(available)
    for name in (*seen, *cause.consequences):
        for fragments, key in TOPICS:
            if key in keys and any(f in name for f in fragments):
                return key
    return None
