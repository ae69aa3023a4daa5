"""# A plateau

The loss falls, and then stands still, high, in training and in validation alike. What can be learned this way has been learned. Here
it is the labels: more than half of them are drawn at random, and no model can know those. A model that is too small, a rate that suits the
beginning only, or regularisation that is too strong stand still just so.

Another rate, a larger model and a look at the samples with the highest loss tell which it is.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from digits import Row, data, fit, net


def train() -> Iterator[Row]:
    torch.manual_seed(0)
    x, y, x_val, y_val = data()
    drawn = [torch.where(torch.rand(len(t)) < 0.6, torch.randint(0, 10, (len(t),)), t) for t in (y, y_val)]
    model = net()
    return fit(model, torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-2), (x, drawn[0], x_val, drawn[1]), 50)
