"""# Stalled from the start

The loss does not move from where it began: for ten classes that is ln 10 = 2.303, the loss of guessing. No gradient reaches what should learn: here twelve
layers of sigmoids squash it to nothing. Labels that do not belong to their inputs, a cut graph or an optimizer without the parameters look the same.

Whether the model can learn one small batch by heart is the test that parts these; `sickbay run` looks into the gradients and says which it is.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from digits import Row, data, fit, net
from torch import nn


def train() -> Iterator[Row]:
    torch.manual_seed(0)
    model = net(*[32] * 12, activation=nn.Sigmoid)
    return fit(model, torch.optim.SGD(model.parameters(), lr=0.05), data(), 25)
