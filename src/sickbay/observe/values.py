"""The numbers that enter a loss function: their range, whether they are whole, whether rows are probabilities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sickbay.facts import Values
from sickbay.observe.numbers import distinct

MOST_NUMBERS = 2**15
"""A look takes whole rows up to about this many numbers: enough for any statement below, and some tens of microseconds."""
MOST_DISTINCT = 100


def look(tensor: torch.Tensor) -> Values | None:
    """What one tensor holds; None if it holds nothing that can be told."""
    if tensor.layout != torch.strided or not tensor.numel() or tensor.is_complex():
        return None
    part = tensor.detach()
    if part.dim():
        part = part[: max(1, MOST_NUMBERS * len(part) // part.numel())]
    array = part.cpu().double().numpy()
    finite = np.isfinite(array)
    numbers = array[finite]
    if not numbers.size:
        return None
    whole = bool((numbers == np.round(numbers)).all())
    different = distinct(numbers) if whole else numbers[:0]
    rows = array if array.ndim >= 2 and array.shape[1] > 1 and finite.all() else None
    return Values(
        count=int(numbers.size),
        minimum=float(numbers.min()),
        maximum=float(numbers.max()),
        mean=float(numbers.mean()),
        std=float(numbers.std()),
        whole=whole,
        distinct=tuple(int(v) for v in different) if len(different) <= MOST_DISTINCT else (),
        zeros=float((numbers == 0).mean()),
        row_sum=_range(rows.sum(axis=1)) if rows is not None else None,
        row_logsumexp=_range(_logsumexp(rows)) if rows is not None else None,
    )


def together(a: Values | None, b: Values | None) -> Values | None:
    """Two looks as one."""
    if a is None or b is None:
        return a or b
    count = a.count + b.count
    mean = (a.mean * a.count + b.mean * b.count) / count
    square = ((a.std**2 + a.mean**2) * a.count + (b.std**2 + b.mean**2) * b.count) / count
    whole = a.whole and b.whole
    distinct = tuple(sorted({*a.distinct, *b.distinct})) if whole and a.distinct and b.distinct else ()
    return Values(
        count=count,
        minimum=min(a.minimum, b.minimum),
        maximum=max(a.maximum, b.maximum),
        mean=mean,
        std=math.sqrt(max(square - mean**2, 0.0)),
        whole=whole,
        distinct=distinct if len(distinct) <= MOST_DISTINCT else (),
        zeros=(a.zeros * a.count + b.zeros * b.count) / count,
        row_sum=_wider(a.row_sum, b.row_sum),
        row_logsumexp=_wider(a.row_logsumexp, b.row_logsumexp),
    )


def beyond(target: torch.Tensor, bounds: tuple[float, float]) -> tuple[float, float] | None:
    """Share of the targets outside the bounds, and share of their variance that no value within the bounds can explain."""
    numbers = target.detach().flatten()[:MOST_NUMBERS].cpu().double().numpy()
    numbers = numbers[np.isfinite(numbers)]
    variance = float(numbers.var()) if numbers.size else 0.0
    if variance <= 0:
        return None
    missed = numbers - numbers.clip(*bounds)
    return float((missed != 0).mean()), min(float((missed**2).mean() / variance), 1.0)


def _logsumexp(rows: NDArray[Any]) -> NDArray[Any]:
    highest = rows.max(axis=1, keepdims=True)
    return np.asarray(np.log(np.exp(rows - highest).sum(axis=1)) + highest.squeeze(1))


def _range(numbers: NDArray[Any]) -> tuple[float, float]:
    return float(numbers.min()), float(numbers.max())


def _wider(a: tuple[float, float] | None, b: tuple[float, float] | None) -> tuple[float, float] | None:
    return (min(a[0], b[0]), max(a[1], b[1])) if a and b else a or b
