"""Tensors as they come: as numpy can read them, below each other, and the indices beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from sickbay.observe.numbers import Array

PLAIN = frozenset({torch.float32, torch.int64, torch.float64, torch.uint8, torch.int32, torch.bool})
"""Types that numpy reads as they are."""
WORDS, FIRST = ("ids",), 64
"""Rows of ids may have another length in every batch: then the first ones count."""


def sample_shape(x: torch.Tensor) -> Any:
    return WORDS if x.dim() == 2 and x.shape[1] > 1 and not x.is_floating_point() and x.dtype is not torch.bool else x.shape[1:]


def joined(held: list[torch.Tensor]) -> torch.Tensor:
    """Rows of ids whose lengths differ, below each other: the first ids count, without the padding at the end: a text is the same beside longer ones."""
    width = min(max(x.shape[1] for x in held), FIRST)
    rows = torch.cat([F.pad(x[:, :width], (0, width - x.shape[1]), value=0) if x.shape[1] < width else x[:, :width] for x in held])
    ends = torch.cat([x[:, -1] for x in held])
    padding = (rows == ends[:, None]).flip(1).cumprod(1).flip(1).bool() if rows.numel() else rows.bool()
    return rows.masked_fill(padding, 0)


def whole(indices: Any, size: int) -> Array | None:
    """Data set indices as numbers; None where they are something else (keys, pairs), or not one per sample."""
    try:
        numbers = np.fromiter([indices] if isinstance(indices, int) else indices, np.int64)
    except (TypeError, ValueError):
        return None
    return numbers if len(numbers) == size else None


def as_it_is(value: Any) -> bool:
    return type(value) is torch.Tensor and value.dtype in PLAIN and value.layout is torch.strided and value.is_cpu and not value.requires_grad


def readable(value: Any) -> torch.Tensor | None:
    """As numpy can read it; None for what is no such tensor (sparse, complex, quantised, or something else)."""
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided or value.is_complex() or value.is_quantized:
        return None
    x = value.detach().cpu().as_subclass(torch.Tensor)
    return x.float() if x.dtype == torch.bfloat16 else x
