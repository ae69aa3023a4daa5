"""Records made by hand: only what a test is about is given, everything else is as in a plain healthy run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sickbay.facts import Facts, Layer, Model, Parameter, Run
from sickbay.nouns import Event, Family, Place, Series
from sickbay.record.reader import Record

Points = ArrayLike | tuple[ArrayLike, ArrayLike]


def make_record(
    *,
    series: Mapping[str, Points] | None = None,
    families: Mapping[str, Mapping[str, Points]] | None = None,
    sources: Mapping[str, str] | None = None,
    events: Sequence[Event] = (),
    steps: int | None = None,
    run: Run | None = None,
    **facts: Any,
) -> Record:
    """A record of `steps` training steps.

    `series` maps names to values (steps 0, 1, 2...) or to (steps, values); `families` maps a family's name to such series by
    layer or parameter. Every other keyword is a field of `facts.Facts`; lists become tuples. Without `run`, the run is one that ended by
    itself after as many steps as the longest series has.
    """
    all_series = {name: _series(name, points) for name, points in (series or {}).items()}
    count = steps if steps is not None else max((len(s) for s in all_series.values()), default=0)
    everything: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in facts.items()}
    return Record(
        facts=Facts(run=run or Run(script="train.py", steps=count, backwards=count, forwards=count, exit=0, finished=True), **everything),
        all_series=all_series,
        families={name: _family(name, columns) for name, columns in (families or {}).items()},
        all_events=tuple(events),
        event_counts={e.kind: sum(x.kind == e.kind for x in events) for e in events},
        sources=dict(sources or {}),
    )


def _series(name: str, points: Points) -> Series:
    if isinstance(points, tuple):
        steps, values = points
        return Series(name, np.asarray(steps, np.int64), np.asarray(values, np.float64))
    values = np.asarray(points, np.float64)
    return Series(name, np.arange(len(values), dtype=np.int64), values)


def _family(name: str, columns: Mapping[str, Points]) -> Family:
    series = [_series(n, p) for n, p in columns.items()]
    steps = np.unique(np.concatenate([s.steps for s in series])) if series else np.empty(0, np.int64)
    values = np.full((len(steps), len(series)), np.nan)
    for j, s in enumerate(series):
        values[np.searchsorted(steps, s.steps), j] = s.values
    return Family(name, tuple(columns), steps, values)


def falling(first: float, last: float, steps: int = 300, noise: float = 0.05, seed: int = 0, speed: float = 8.0) -> np.ndarray:
    """A healthy loss curve: exponential descent from `first` to `last` with relative batch noise."""
    t = np.linspace(0, 1, steps)
    curve = last + (first - last) * np.exp(-speed * t)
    return np.asarray(curve * (1 + noise * np.random.default_rng(seed).standard_normal(steps)))


def place_in(source: str, text: str, file: str = "train.py", layer: str | None = None) -> Place:
    """The place of the first line of a source that contains `text`."""
    for number, line in enumerate(source.splitlines(), start=1):
        if text in line:
            return Place(file, number, layer, line.strip())
    raise ValueError(f"{text!r} is in no line of the source")


def model_facts(*layers: str, width: int = 32, optimizer: int | None = 0, name: str = "Net", **parameter: Any) -> dict[str, Any]:
    """`models` and `parameters` facts of a stack of Linear layers; keywords go to every `Parameter`."""
    given = {"reached": True, "moved": True, "initial_std": 0.1} | parameter
    weights = [
        Parameter(name=f"{x}.weight", shape=(width, width), size=width * width, layer=x, layer_kind="Linear", optimizer=optimizer, **given)
        for x in layers
    ]
    return {
        "models": (Model(name=name, layers=tuple(Layer(name=x, kind="Linear", parameters=width * width) for x in layers)),),
        "parameters": tuple(weights),
    }
