"""The newest batches that loaders gave, and which of them the model was given.

Most scripts load a batch and use it. Some (accelerate, and with it transformers) load one ahead: then the newest batch is the next step's. The
first steps show which it is, by comparing what enters the model with both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

LOOKS = 8
"""Steps on which batches and inputs are compared; later ones are taken to be alike."""
MOST_TENSORS = 8


class LoadedBatches:
    """Holds the newest batch; two, as long as it is not known that one is enough."""

    def __init__(self) -> None:
        self.newest: tuple[Any, Any] | None = None
        """The batch and its data set indices."""
        self.before: tuple[Any, Any] | None = None
        self.at = 0
        """How many backward passes there had been when the newest came."""
        self.ahead = False
        """The loader is one batch ahead of the model."""
        self.steps = 0

    def load(self, batch: Any, indices: Any, backwards: int) -> None:
        self.before = self.newest if self.ahead or self.steps < LOOKS else None
        self.newest = (batch, indices)
        self.at = backwards

    def look(self, given: Any) -> None:
        """What enters the model: is it of the newest batch?"""
        if self.newest is not None and self.before is not None and not fed(self.newest[0], given):
            self.ahead = fed(self.before[0], given)
        elif self.newest is not None:
            self.ahead = False

    def stepped(self, backwards: int, shared: bool) -> None:
        """Let go of what the step was made from, unless the next one needs it: what came after its backward pass, what several optimizers share."""
        if self.ahead or self.steps < LOOKS:
            self.steps += 1
            return  # the next batch pushes it out
        self.before = None
        if self.at != backwards and not shared:
            self.newest = None

    def of(self, given: Any) -> tuple[Any, Any, bool | None]:
        """The batch that the model was given, its data set indices, and whether that was seen to be so."""
        held = [entry for entry in (self.newest, self.before) if entry is not None]
        for batch, indices in held:
            if fed(batch, given):
                return batch, indices, True
        batch, indices = (self.before if self.ahead else self.newest) or (None, None)
        return batch, indices, None

    def clear(self) -> None:
        self.newest = self.before = None


def fed(batch: Any, given: Any) -> bool:
    """Whether a tensor that was given is one of the batch: the same memory, or the same numbers."""
    loaded = [t for t, _ in zip(tensors(batch), range(MOST_TENSORS), strict=False) if t.numel()]
    return any(_same(a, b) for b, _ in zip(tensors(given), range(MOST_TENSORS), strict=False) for a in loaded)


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.device == b.device:
        return a.data_ptr() == b.data_ptr() or bool(((a == b) | ((a != a) & (b != b))).all())
    a, b = a.detach().cpu(), b.detach().cpu()
    return bool(((a == b) | ((a != a) & (b != b))).all())


def tensors(value: Any, depth: int = 0) -> Iterator[torch.Tensor]:
    """Those in a batch, or in what a model is given."""
    if isinstance(value, torch.Tensor):
        if value.layout == torch.strided and not value.is_meta:
            yield value
    elif depth < 4:
        for item in value.values() if hasattr(value, "values") and callable(value.values) else value if isinstance(value, (list, tuple)) else ():
            yield from tensors(item, depth + 1)
