"""# The learning rate is too large

Each step overshoots by more than the one before, and the loss climbs instead of falling: here a linear
model that reads the value of a digit, with half as much again as the rate at which it
would still learn. In milder cases the loss jumps once, early, and then stays at the level of guessing.

A tenth of the rate is the first thing to try; it costs one run and tells at once.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from digits import Row, data
from torch import nn


def train() -> Iterator[Row]:
    torch.manual_seed(0)
    x, y, x_val, y_val = data()
    model = nn.Linear(64, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.13)
    for _ in range(14):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x).squeeze(1), y.float())
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            validation = nn.functional.mse_loss(model(x_val).squeeze(1), y_val.float())
        yield loss.item(), validation.item(), 0.13
