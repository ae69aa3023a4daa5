"""What the trainings of the gallery share: scanned digits, a plain loop, and rows of training loss, validation loss and learning rate."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import torch
from sklearn.datasets import load_digits
from torch import nn

Row = tuple[float, float, float]


def data(train: int = 1200) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Training images and labels, then those for validation; pixels from 0 to 1, in an order that never changes."""
    digits = load_digits()
    order = torch.randperm(len(digits.target), generator=torch.Generator().manual_seed(0))
    x, y = torch.tensor(digits.data, dtype=torch.float32)[order] / 16, torch.tensor(digits.target)[order]
    return x[:train], y[:train], x[1200:], y[1200:]


def net(*widths: int, activation: type[nn.Module] = nn.ReLU) -> nn.Sequential:
    """Linear layers from 64 pixels over these widths to ten classes."""
    sizes = (64, *widths)
    layers = [layer for a, b in pairwise(sizes) for layer in (nn.Linear(a, b), activation())]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], 10))


def fit(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    sets: tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor],
    epochs: int,
    batch: int = 50,
) -> Iterator[Row]:
    """A plain training loop; the training loss is the mean over the epoch's batches."""
    x, y, x_val, y_val = sets
    loss_function = nn.CrossEntropyLoss()
    for _ in range(epochs):
        total = 0.0
        for rows in torch.randperm(len(x)).split(batch):
            optimizer.zero_grad()
            loss = loss_function(model(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
        with torch.no_grad():
            validation = loss_function(model(x_val), y_val).item()
        yield total / len(x), validation, optimizer.param_groups[0]["lr"]
