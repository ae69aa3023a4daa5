"""# A healthy run

Both losses fall fast at first and then ever more slowly. Validation stays a little above training, and the gap does not widen. There is some
noise, and nothing in it repeats. Nothing is to be done: the curve has levelled off low, so more epochs would win little.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from digits import Row, data, fit, net


def train() -> Iterator[Row]:
    torch.manual_seed(0)
    model = net(64)
    return fit(model, torch.optim.Adam(model.parameters(), lr=1e-3), data(), 25)
