"""# A spike

The loss jumps by a multiple in one epoch, is back within a few, and goes on as before. One batch did that: a broken image (as here, in two of the
epochs), a burst of gradients, now and then a number that overflowed. The weights recover, and each spike costs some epochs.

The log does not hold which batch it was. `sickbay run` does: it names the samples that come back at every jump.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from digits import Row, data, fit, net


def train() -> Iterator[Row]:
    torch.manual_seed(0)
    model = net(64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
    x, y, x_val, y_val = data()
    broken = x.clone()
    broken[7] = 255.0  # a white image that was not scaled
    for stretch, images in ((18, x), (1, broken), (15, x), (1, broken), (15, x)):
        yield from fit(model, optimizer, (images, y, x_val, y_val), stretch)
