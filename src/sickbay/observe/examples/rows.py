"""What enters the model, as at most WIDTH numbers per sample: tables and short series as they are, images and long series
averaged over blocks, token ids counted."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from sickbay.observe.keys import scattered, whole_row_keys
from sickbay.observe.numbers import Array

WIDTH = 256
MOST_TENSORS = 4
LONGEST = 512
"""Ids of a sample that are looked at."""
LINES = 64
"""Of a picture, that are at least looked at."""
TABLE, SERIES, IMAGE, TOKENS = "table", "series", "image", "tokens"


def tensors_of(values: Iterable[Any], size: int, target: torch.Tensor | None = None, depth: int = 0) -> list[torch.Tensor]:
    """The tensors with one row per sample: not the target itself, and nothing that a model has made."""
    found: list[torch.Tensor] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            if _plain(value, size) and not _is(value, target):
                found.append(value.detach())
        elif isinstance(value, (list, tuple)) and depth < 2:
            found += tensors_of(value[:8], size, target, depth + 1)
        elif isinstance(value, dict) and depth < 2:
            found += tensors_of(list(value.values())[:8], size, target, depth + 1)
    return found[:MOST_TENSORS]


def one_row_each(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a model is given, with the ids of all samples in one row and the places where each begins (as `nn.EmbeddingBag` takes them) as one row per sample."""
    rows = [v for v in values if isinstance(v, torch.Tensor) and v.dim() == 1 and v.dtype in (torch.int64, torch.int32) and v.is_cpu and v.numel()]
    for ids, begins in permutations(rows[:3], 2):
        ends = torch.cat([begins[1:], begins.new_tensor([len(ids)])])
        lengths = ends - begins
        if len(begins) > 1 and len(ids) > len(begins) and not int(begins[0]) and bool((lengths >= 0).all()):
            at = torch.arange(min(int(lengths.max()), LONGEST))
            table = torch.where(at < lengths[:, None], ids[(begins[:, None] + at).clamp_max(len(ids) - 1)], 0)
            return (table, *(v for v in values if v is not ids and v is not begins))
    return values


def _plain(x: torch.Tensor, size: int) -> bool:
    return x.dim() > 0 and len(x) == size and x.layout == torch.strided and x.numel() > 0 and not x.requires_grad and not x.is_complex()


def _is(x: torch.Tensor, target: torch.Tensor | None) -> bool:
    """A model may be given the target too, to compute its loss itself."""
    if target is None or x.numel() != target.numel():
        return False
    return x.data_ptr() == target.data_ptr() or (x.is_cpu and target.is_cpu and torch.equal(x.reshape(-1), target.reshape(-1).to(x.dtype)))


def keys_of(tensors: list[torch.Tensor]) -> Array:
    """One key per row, over all tensors."""
    total = np.zeros(len(tensors[0]), np.uint64)
    with np.errstate(over="ignore"):
        for i, x in enumerate(tensors):
            total += scattered(whole_row_keys(x) + np.uint64(i))
    return total


def kind_of(tensors: list[torch.Tensor]) -> str:
    """Of the largest of them."""
    x = max(tensors, key=lambda t: t.numel())
    if _counted(x):
        return TOKENS
    return IMAGE if x.dim() == 4 else SERIES if x.dim() == 3 or (x.dim() == 2 and x.shape[1] > WIDTH) else TABLE


def table_of(tensors: list[torch.Tensor]) -> slice:
    """Which of the numbers are the columns of the largest table, as they were given."""
    largest = max(tensors, key=lambda t: t.numel())
    room, at = WIDTH // len(tensors), 0
    for x in tensors:
        width = room if _counted(x) else min(x[0].numel(), room)
        if x is largest:
            return slice(at, at + width)
        at += width
    return slice(0)


def numbers_of(tensors: list[torch.Tensor], rows: Array) -> Array:
    """At most WIDTH numbers for each of these rows."""
    room = WIDTH // len(tensors)
    parts = [_numbers(_chosen(_thinned(x), rows).cpu(), room) for x in tensors]
    return np.concatenate(parts, axis=1).astype(np.float32, copy=False)


def _chosen(x: torch.Tensor, rows: Array) -> torch.Tensor:
    """Some rows. (Whole rows that lie together are copied by `index_select` in a fifth of the time that an index takes.)"""
    if len(rows) == len(x) and (rows == np.arange(len(x))).all():
        return x.contiguous()
    chosen = torch.from_numpy(rows).to(x.device)
    return x.index_select(0, chosen) if x.is_contiguous() else x[chosen]


def _thinned(x: torch.Tensor) -> torch.Tensor:
    """Of large pictures, every second or further line: means over blocks of them hardly change."""
    return x[:, :, :: max(x.shape[2] // LINES, 1), :: max(x.shape[3] // LINES, 1)] if x.dim() == 4 else x


def _counted(x: torch.Tensor) -> bool:
    return x.dtype in (torch.int64, torch.int32, torch.int16) and x.dim() <= 2 and (x.dim() == 1 or int(x.max()) > 1)


def _numbers(x: torch.Tensor, room: int) -> Array:
    if _counted(x):
        return _counts(x.reshape(len(x), -1).numpy(), room)
    x = x.float()
    flat = x.reshape(len(x), -1)
    if flat.shape[1] <= room:
        return flat.numpy()
    return _pooled_image(x.numpy(), room) if x.dim() == 4 else _pooled_series(x, room).numpy()


def _counts(ids: Array, room: int) -> Array:
    """How often each token id occurs, ids taken modulo the room."""
    where = np.arange(len(ids))[:, None] * room + ids % room
    return np.bincount(where.reshape(-1), minlength=len(ids) * room).reshape(len(ids), room)


def _pooled_image(x: Array, room: int) -> Array:
    channels = x.shape[1] if x.shape[1] <= 4 else 1
    if channels == 1:
        x = x.mean(1, keepdims=True)
    side = max(int((room // channels) ** 0.5), 1)
    return pooled(x, min(side, x.shape[2]), min(side, x.shape[3])).reshape(len(x), -1)


def pooled(x: Array, height: int, width: int) -> Array:
    """Means over so many stretches of the last two dimensions, as two products: a tenth of the time of `adaptive_avg_pool2d`, which this is."""
    return np.asarray(stretches(height, x.shape[-2]) @ (x @ stretches(width, x.shape[-1]).T))


@cache
def stretches(parts: int, size: int) -> Array:
    """The matrix that makes means over `parts` stretches of equal length, which may overlap by one."""
    made = np.zeros((parts, size), np.float32)
    for i in range(parts):
        a, b = i * size // parts, -(-(i + 1) * size // parts)
        made[i, a:b] = 1 / (b - a)
    return made


def _pooled_series(x: torch.Tensor, room: int) -> torch.Tensor:
    """Means over blocks of time, and the spread within them: fast oscillations have no mean."""
    x = x.reshape(len(x), 1, -1) if x.dim() != 3 else x.transpose(1, 2) if x.shape[1] > x.shape[2] else x
    channels = min(x.shape[1], 8)
    x = x[:, :channels]
    blocks = max(min(room // (2 * channels), x.shape[2]), 1)
    mean = F.adaptive_avg_pool1d(x, blocks)
    square = F.adaptive_avg_pool1d(x * x, blocks)
    spread = (square - mean * mean).clamp_min(0).sqrt()
    return torch.cat([mean, spread], 1).reshape(len(x), -1)[:, :room]
