"""Mean and spread of what enters a model, by feature, gathered as it comes."""

from __future__ import annotations

from typing import Any

BATCHES = 50
"""Training batches that the statistics are taken from; then they stay, as a preprocessing step's would."""


class Statistics:
    """Of one input. Features are columns of a table, channels of an image, the last axis of a sequence."""

    def __init__(self) -> None:
        self.count = 0
        self.mean: Any = None
        self.square: Any = None

    def see(self, values: Any) -> None:
        if self.count >= BATCHES and self.mean is not None:
            return
        axes = [i for i in range(values.dim()) if i != feature_axis(values)]
        mean = values.double().mean(axes, keepdim=True)
        square = values.double().square().mean(axes, keepdim=True)
        if self.mean is None or self.mean.shape != mean.shape:
            self.count, self.mean, self.square = 1, mean, square
        else:
            self.count += 1
            self.mean = self.mean + (mean - self.mean) / self.count
            self.square = self.square + (square - self.square) / self.count

    @property
    def std(self) -> Any:
        """One for a feature that never changes."""
        spread = (self.square - self.mean.square()).clamp_min(0).sqrt()
        return spread.where(spread > 1e-12 * (1 + self.mean.abs()), spread.new_ones(()))

    def fits(self, values: Any) -> bool:
        return (
            self.mean is not None
            and all(m in (1, v) for m, v in zip(self.mean.shape, values.shape, strict=False))
            and self.mean.dim() == values.dim()
        )

    def standardised(self, values: Any) -> Any:
        return ((values.double() - self.mean) / self.std).to(values.dtype)


def feature_axis(values: Any) -> int:
    return 1 if values.dim() >= 4 else int(values.dim()) - 1


def is_data(value: Any) -> bool:
    """A floating tensor that comes from outside the model."""
    import torch

    return isinstance(value, torch.Tensor) and value.is_floating_point() and not value.requires_grad and value.dim() >= 1 and value.numel() > 1
