"""Training's and serving's tensors for the same raw samples: made by two functions, or read from two files. As arrays with one row per sample, by name."""

from __future__ import annotations

import copy
import csv
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sickbay.errors import UsageError
from sickbay.exams.randomness import Randomness, seed_everything

Array = NDArray[Any]
Side = dict[str, Array]
MOST_SAMPLES = 1000
TWICE = 16
"""Samples that are prepared a second time, to see whether the function is random."""
FILES = (".pt", ".pth", ".npy", ".npz", ".csv")


def made(function: Callable[[Any], Any], samples: Sequence[Any], seed: int = 0) -> Side:
    """What a function makes of each sample; each call is given a copy of its own, and the program's random numbers stay as they are."""
    kept = Randomness.taken()
    try:
        rows = []
        for i, sample in enumerate(samples):
            seed_everything(seed + i)
            try:
                rows.append(_named(function(copy.deepcopy(sample))))
            except Exception as e:
                raise UsageError(f"{getattr(function, '__name__', 'the function')} fails on sample {i}: {type(e).__name__}: {e}") from e
    finally:
        kept.restore()
    return {name: _stacked([row[name] for row in rows]) for name in rows[0] if all(name in row for row in rows)}


def some(samples: Any) -> list[Any]:
    """The first samples of a list, a data set or a generator."""
    if hasattr(samples, "__getitem__") and hasattr(samples, "__len__") and not isinstance(samples, Mapping):
        found = [samples[i] for i in range(min(len(samples), MOST_SAMPLES))]
    else:
        found = list(islice(samples, MOST_SAMPLES))
    if not found:
        raise UsageError("there is no sample to prepare: expected a list, a data set or a generator of raw samples")
    return found


def random_in(function: Callable[[Any], Any], samples: Sequence[Any], first: Side) -> bool:
    """Whether the same sample, prepared again with other random numbers, is another."""
    few = samples[:TWICE]
    again = made(function, few, seed=1_000_003)
    return any(not _equal(again[name], first[name][: len(few)]) for name in again if name in first)


def _equal(a: Array, b: Array) -> bool:
    if a.dtype == object or b.dtype == object:
        return all(x.shape == y.shape and np.array_equal(x, y) for x, y in zip(a, b, strict=True))
    return a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def given(value: Any) -> Side:
    """Arrays, tensors or dicts of them, with one row per sample."""
    return {name: array if array.ndim else array[None] for name, array in _named(value).items()}


def read(file: Path) -> Side:
    """A saved side. Nothing in the file is run."""
    if not file.is_file():
        raise UsageError(f"there is no file {file}")
    try:
        return _read(file)
    except UsageError:
        raise
    except Exception as e:
        raise UsageError(f"{file} cannot be read: {type(e).__name__}: {(str(e).splitlines() or [''])[0]}") from None


def _read(file: Path) -> Side:
    kind = file.suffix.lower()
    if kind == ".npy":
        return {"": np.load(file, allow_pickle=False)}
    if kind == ".npz":
        with np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    if kind == ".csv":
        return _table(file)
    if kind in (".pt", ".pth"):
        import torch

        value = torch.load(file, map_location="cpu", weights_only=True)
        return given(torch.stack(value) if isinstance(value, list) and value and all(isinstance(v, torch.Tensor) for v in value) else value)
    raise UsageError(f"{file} has the ending {kind or 'none'}: expected one of {', '.join(FILES)}, or file.py:function")


def _table(file: Path) -> Side:
    with file.open(newline="", encoding="utf-8-sig") as stream:
        rows = [row for row in csv.reader(stream) if row]
    if not rows:
        raise UsageError(f"{file} is empty")
    headed = any(_number(cell) is None for cell in rows[0])
    names = rows.pop(0) if headed else [str(i) for i in range(len(rows[0]))]
    side: Side = {}
    for i, name in enumerate(names):
        cells = [row[i] if i < len(row) else "" for row in rows]
        numbers = [_number(cell) for cell in cells]
        side[name] = np.array(cells) if any(n is None for n in numbers) else np.array(numbers, np.float64)
    return side


def _number(text: str) -> float | None:
    """NaN for an empty cell, None for a word."""
    try:
        return float(text) if text.strip() else float("nan")
    except ValueError:
        return None


def _named(value: Any) -> Side:
    """What a function returns, by name: of a dict its keys, of a tuple its places, else no name."""
    if isinstance(value, Mapping):
        return {str(k): _array(v) for k, v in value.items()}
    if isinstance(value, tuple):
        return {str(i): _array(v) for i, v in enumerate(value)}
    return {"": _array(value)}


def _array(value: Any) -> Array:
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float() if str(value.dtype) == "torch.bfloat16" else value
        return np.asarray(value.numpy())
    array = np.asarray(value)
    if array.dtype.kind not in "fiubUS":
        raise UsageError(f"a sample is prepared as {type(value).__name__}: expected a tensor, an array, numbers, or a dict of these")
    return array


def _stacked(rows: list[Array]) -> Array:
    """One array where all samples have one shape; else an array of arrays."""
    if len({r.shape for r in rows}) == 1:
        return np.stack(rows)
    ragged = np.empty(len(rows), object)
    ragged[:] = rows
    return ragged
