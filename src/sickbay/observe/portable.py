"""Makes what a script holds fit for a file that loads without running anybody's code: tensors, numbers, text and containers of them.

Everything else (objects of the user's classes, functions, sparse tensors) is left out and its place taken by a sentence.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from sickbay import facts

MOST_ROWS, MOST_NAMES = 16, 8
DEEPEST, MOST_ITEMS, LONGEST_TEXT = 8, 20_000, 10_000
"""Beyond this it is no batch any more, or holds itself."""
LEFT_OUT = "<left out"
"""How the sentence begins that stands for what was not kept."""
TALKING = (torch.dtype, torch.device, complex, range, slice)
"""Their own words are short and say it all."""


class Packer:
    """Packs one part of an incident after another into what room there is; remembers what was kept and what was not."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.kept: list[facts.PartKept] = []
        self.missing: list[facts.PartMissing] = []
        self._part = ""
        self._tensors = self._bytes = self._items = 0
        self._out: dict[str, tuple[list[str], int]] = {}
        self._held: dict[tuple[Any, ...], torch.Tensor] = {}
        """What was packed, by where it lies: a tensor that comes twice takes room once."""
        self.told: list[facts.TensorKept] = []
        """Of the tensors of the newest part, if they were to be described."""

    def begin(self, part: str) -> None:
        self._part = part
        self._tensors = self._bytes = self._items = 0
        self._out = {}
        self.told = []

    def end(self) -> None:
        if self._tensors:
            self.kept.append(facts.PartKept(part=self._part, tensors=self._tensors, bytes=self._bytes))
        for why, (names, size) in self._out.items():
            self.missing.append(facts.PartMissing(part=self._part, why=why, names=tuple(names[:MOST_NAMES]), tensors=len(names), bytes=size))

    def lacks(self, part: str, why: str) -> None:
        """A part that cannot be kept at all."""
        self.missing.append(facts.PartMissing(part=part, why=why))

    def pack(self, value: Any, name: str = "", *, describe: bool = False, depth: int = 0) -> Any:
        """The value, or what stands for it."""
        self._items += 1
        if isinstance(value, torch.Tensor):
            return self._tensor(value, name, describe)
        if value is None or type(value) in (bool, int, float):
            return value
        if type(value) is str:
            return value[:LONGEST_TEXT]
        if isinstance(value, np.generic) and isinstance(plain := value.item(), (bool, int, float, str)):
            return plain
        if isinstance(value, np.ndarray):
            return self._array(value, name, describe)
        if isinstance(value, torch.Size):
            return tuple(value)
        if depth >= DEEPEST or self._items > MOST_ITEMS:
            return self._left_out(name, "it is nested too deep or has too many parts", 0)
        return self._container(value, name, describe, depth + 1)

    def _container(self, value: Any, name: str, describe: bool, depth: int) -> Any:
        if isinstance(value, tuple) and hasattr(value, "_asdict"):
            value = value._asdict()
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            value = {f.name: getattr(value, f.name, None) for f in dataclasses.fields(value)}
        if isinstance(value, Mapping):
            return {_key(k): self.pack(v, f"{name}[{k!r}]", describe=describe, depth=depth) for k, v in list(value.items())}
        if isinstance(value, (list, tuple)):
            items = [self.pack(v, f"{name}[{i}]", describe=describe, depth=depth) for i, v in enumerate(value)]
            return items if isinstance(value, list) else tuple(items)
        if isinstance(value, TALKING):
            return str(value)
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        return self._left_out(name, f"objects of {kind} could not be loaded safely", 0)

    def _array(self, value: np.ndarray, name: str, describe: bool) -> Any:
        try:
            return self._tensor(torch.from_numpy(np.ascontiguousarray(value)), name, describe)
        except (TypeError, ValueError):
            return self._left_out(name, f"arrays of {value.dtype} have no tensor type", 0)

    def _tensor(self, value: torch.Tensor, name: str, describe: bool) -> Any:
        if value.layout != torch.strided or value.is_meta or value.is_quantized or value.is_nested:
            kind = str(value.layout).removeprefix("torch.") if value.layout != torch.strided else "meta, quantized or nested"
            return self._left_out(name, f"{kind} tensors are not kept", 0)
        plain = value.detach().as_subclass(torch.Tensor)
        size = plain.numel() * plain.element_size()
        where = (plain.device, plain.data_ptr(), plain.dtype, plain.shape, plain.stride())
        held = self._held.get(where) if size else None
        fits = held is not None or size <= self.room
        if describe:
            self.told.append(_described(plain, name, fits))
        if not fits:
            return self._left_out(name, "there was no room for it within --blackbox", size)
        self._tensors += 1
        if held is None:
            self.room -= size
            self._bytes += size
            held = self._held[where] = portable(plain)
        return held

    def _left_out(self, name: str, why: str, size: int) -> str:
        names, before = self._out.get(why, ([], 0))
        self._out[why] = ([*names, name], before + size)
        return f"{LEFT_OUT}: {why}>"


def portable(tensor: torch.Tensor) -> torch.Tensor:
    """On the CPU and alone in its memory: torch saves the whole of the memory that a view looks into."""
    if tensor.device.type != "cpu":
        tensor = tensor.cpu()
    tensor = tensor.resolve_conj().resolve_neg()
    whole = tensor.is_contiguous() and tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()
    return tensor if whole else tensor.contiguous().clone()


def _key(key: Any) -> Any:
    return key if key is None or type(key) in (str, int, float, bool) else repr(key)[:200]


def _described(tensor: torch.Tensor, name: str, kept: bool) -> facts.TensorKept:
    told = facts.TensorKept(name=name, shape=tuple(tensor.shape), dtype=str(tensor.dtype).removeprefix("torch."), kept=kept)
    if not tensor.numel() or tensor.is_complex() or tensor.dtype == torch.bool:
        return told
    try:
        return dataclasses.replace(told, **_numbers(tensor))
    except RuntimeError:  # a type that this torch cannot compare
        return told


def _numbers(tensor: torch.Tensor) -> dict[str, Any]:
    if not tensor.is_floating_point():
        low, high = tensor.aminmax()
        return {"minimum": float(low.item()), "maximum": float(high.item())}
    finite = torch.isfinite(tensor)
    invalid = int(tensor.numel() - finite.sum().item())
    values = tensor if not invalid else tensor[finite]
    ends = [v.item() for v in values.aminmax()] if values.numel() else [None, None]
    rows = (~finite).reshape(tensor.shape[0], -1).any(1).nonzero().flatten()[:MOST_ROWS].tolist() if invalid and tensor.dim() else []
    return {
        "minimum": ends[0],
        "maximum": ends[1],
        "invalid": invalid,
        "rows": tuple(rows),
    }
