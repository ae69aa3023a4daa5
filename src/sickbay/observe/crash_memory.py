"""What held memory when it ran out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch

from sickbay import facts
from sickbay.observe.machine import memory_bytes, resident_bytes

if TYPE_CHECKING:
    from sickbay.observe.session import Session

WORDS = ("can't allocate memory", "CUDA out of memory", "out of memory", "Unable to allocate", "CUBLAS_STATUS_ALLOC_FAILED", "not enough memory")
MOST_NAMED = 6
_UNITS = {"B": 1, "bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50}


def ran_out(kind: str, message: str) -> bool:
    """Whether this is how Python, numpy or torch say that memory is full."""
    return kind in ("MemoryError", "OutOfMemoryError", "_ArrayMemoryError") or any(w in message for w in WORDS)


def requested(message: str) -> int | None:
    found = re.search(r"allocate (?:memory: you tried to allocate )?([\d.]+) ?(bytes|B|[KMGTP]iB)", message)
    return int(float(found[1]) * _UNITS[found[2]]) if found else None


def memory_use(session: Session, message: str, frames: list[tuple[FrameType, int]]) -> facts.MemoryUse:
    device = "cuda" if "CUDA" in message or "CUBLAS" in message else "cpu"
    parameters = [t for t, _ in session.registry.entries()]
    optimizers = [o for e in session.registry.optimizers if (o := e.ref()) is not None]
    states = [v for o in optimizers for state in list(o.state.values()) for v in state.values() if isinstance(v, torch.Tensor)]
    batch = _batch(session)
    return facts.MemoryUse(
        requested=requested(message),
        device=device,
        resident=resident_bytes(),
        available=_available(device),
        parameters=_bytes(parameters),
        gradients=_bytes([p.grad for p in parameters if p.grad is not None]),
        optimizer=_bytes(states),
        batch=_bytes(batch),
        batch_size=int(batch[0].shape[0]) if batch and batch[0].dim() else 0,
        largest=tuple(_largest(frames)),
    )


def _bytes(tensors: list[torch.Tensor]) -> int:
    return sum(t.numel() * t.element_size() for t in {id(t): t for t in tensors}.values())


def _batch(session: Session) -> list[torch.Tensor]:
    watch: Any = next((o for o in session.observers if o.name == "batches"), None)
    if watch is None or not watch.door:
        return []
    args, kwargs, *_ = watch.door[-1]
    return [t for t in (*args, *kwargs.values()) if isinstance(t, torch.Tensor)]


def _largest(frames: list[tuple[FrameType, int]]) -> Iterator[tuple[str, int]]:
    """The largest tensors and arrays among the user's variables."""
    sizes: dict[int, tuple[str, int]] = {}
    for frame, _ in frames:
        for name, value in list(frame.f_locals.items()):
            for what, item in [(name, value), *((f"{name}[...]", v) for v in (value[:64] if type(value) in (list, tuple) else ()))]:
                size = item.numel() * item.element_size() if issubclass(type(item), torch.Tensor) else getattr(item, "nbytes", 0)
                if isinstance(size, int) and size:
                    sizes.setdefault(id(item), (what, size))
    yield from sorted(sizes.values(), key=lambda entry: -entry[1])[:MOST_NAMED]


def _available(device: str) -> int | None:
    if device == "cuda":
        return int(torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory)
    return memory_bytes()
