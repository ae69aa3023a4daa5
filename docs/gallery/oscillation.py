"""# Oscillation

The loss goes up and down from step to step, like a ball between two slopes: the steps are too long to settle in the valley, and not long enough to
leave it. Here every step has the same length however near the valley is, since the absolute error has the same slope everywhere. Batches that
differ make a curve noisy; this is not noise, since each value is the opposite of the one before.

A smaller rate, or one that falls over the run. A little of it is no illness: training on whole sets settles where it just begins.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from digits import Row, data
from torch import nn

RATE = 0.8


def train() -> Iterator[Row]:
    torch.manual_seed(0)
    x, y, x_val, y_val = data()
    model = nn.Linear(64, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    for _ in range(80):
        optimizer.zero_grad()
        loss = nn.functional.l1_loss(model(x).squeeze(1), y.float())
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            validation = nn.functional.l1_loss(model(x_val).squeeze(1), y_val.float())
        yield loss.item(), validation.item(), RATE
