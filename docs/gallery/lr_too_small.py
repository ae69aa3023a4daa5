"""# The learning rate is too small

Every step is right, and far too short. The loss comes down in a straight line that is nearly flat, without the bend that every real descent has,
and validation moves along with it. Looked at alone, the curve is hard to tell from one that does not learn at all; the rate in the log tells.

Ten times the rate, and again, until the descent has its bend.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from digits import Row, data, fit, net


def train() -> Iterator[Row]:
    torch.manual_seed(0)
    model = net(64)
    return fit(model, torch.optim.SGD(model.parameters(), lr=5e-7), data(), 25)
