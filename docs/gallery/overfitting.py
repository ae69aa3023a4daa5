"""# Overfitting

Training loss goes on falling towards zero; validation loss turns and climbs. From the turn on the model learns what is particular to its training
samples. The best weights are those at the turn, however good the training loss became later.

Keep them (early stopping); then less model, more data, or something that makes memorising harder: weight decay, dropout, augmentation.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from digits import Row, data, fit, net


def train() -> Iterator[Row]:
    torch.manual_seed(0)
    x, y, x_val, y_val = data(train=150)
    noisy = torch.where(torch.rand(len(y)) < 0.3, torch.randint(0, 10, (len(y),)), y)
    model = net(256, 256)
    return fit(model, torch.optim.Adam(model.parameters(), lr=1e-3), (x, noisy, x_val, y_val), 40, batch=25)
