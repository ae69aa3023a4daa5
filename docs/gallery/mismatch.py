"""# Training and validation do not match

Training loss falls as it should; validation loss never does, from the first epoch on. With overfitting it would have fallen first and
turned later. The model meets something in validation that it has never been trained on: here pixels from 0 to 16 instead of 0 to 1, because one of the two loaders
does not scale them.

Compare one training and one validation batch: mean, spread, order of channels, labels. `sickbay run` does that by itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from digits import Row, data, fit, net


def train() -> Iterator[Row]:
    torch.manual_seed(0)
    x, y, x_val, y_val = data()
    model = net(64)
    return fit(model, torch.optim.Adam(model.parameters(), lr=1e-3), (x, y, 16 * x_val.flip(1), y_val), 25)
