"""Per-layer families, reduced to what signs need: which columns are weights, by depth, over which frames."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sickbay.facts import Parameter
from sickbay.nouns import Family
from sickbay.record.reader import Record

Values = NDArray[np.float64]

MINIMUM_SIZE = 16
"""Weights with fewer elements than this (a gate, a temperature) move by large factors in healthy runs."""


@dataclass(frozen=True)
class Columns:
    """Some columns of a family with the parameters they belong to."""

    parameters: tuple[Parameter, ...]
    steps: NDArray[np.int64]
    values: Values
    """frames x parameters"""


def weights(record: Record, family: Family) -> Columns:
    """The columns of trainable weight matrices and kernels, in the order of the forward pass.

    Left out: biases and norm scales (one-dimensional, often start at zero, so that their ratios mean little), weights that
    start at zero on purpose (LoRA-B, zero-initialised branches) and embeddings, of which a batch touches only some rows (unless
    there is nothing else, as in matrix factorisation).
    """
    known = {p.name: p for p in record.facts.parameters}
    every = [p for name in family.names if (p := known.get(name)) is not None and _is_weight(p)]
    chosen = [p for p in every if "Embedding" not in p.layer_kind] or every
    used = _used(record)
    if all(p.name in used for p in chosen):  # else some are not in the graph that was read, and they stay in the order of the model
        chosen.sort(key=lambda p: used[p.name])
    place = {name: j for j, name in enumerate(family.names)}
    values = family.values[:, [place[p.name] for p in chosen]] if chosen else np.empty((len(family.steps), 0))
    return Columns(tuple(chosen), family.steps, values)


def _used(record: Record) -> dict[str, int]:
    """The weights in the order in which one training loss uses them; of several losses none is the order."""
    maps = [[m.parameter for m in loss.linear_maps] for loss in record.facts.losses if loss.linear_maps]
    return {name: i for i, name in reversed([*enumerate(maps[0])])} if len(maps) == 1 else {}


def _is_weight(p: Parameter) -> bool:
    return p.trainable and len(p.shape) >= 2 and math.prod(p.shape) >= MINIMUM_SIZE and p.initial_std != 0


def nanmedian(values: Values, axis: int) -> Values:
    """`np.nanmedian` that is quiet about columns without a value (their median is NaN) and ignores infinities."""
    values = np.where(np.isfinite(values), values, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(np.nanmedian(values, axis=axis), dtype=np.float64)


def in_steps(columns: Columns, first: float, last: float) -> Columns:
    rows = (columns.steps >= first) & (columns.steps <= last)
    return Columns(columns.parameters, columns.steps[rows], columns.values[rows])


def root_mean_square(columns: Columns) -> Values:
    """Norms per square root of the number of elements, so that layers of different size compare."""
    sizes = np.array([max(1, math.prod(p.shape)) for p in columns.parameters], dtype=float)
    return np.asarray(columns.values / np.sqrt(sizes)) if len(sizes) else columns.values
