"""All weights of a step in two numbers each, so that ranks can be compared after the run without a word between them.

Of each tensor a fixed sample is added up with fixed signs: two ranks whose weights are the same to the bit give the same sum, and the difference of two sums is
about as large as the distance of the samples. Taken at the same steps on every rank, before the backward pass, when everything that the script does with weights
after an update (averaging them) has been done.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from sickbay.observe.numbers import Array, Blocks, join
from sickbay.observe.registry import spread

SAMPLE = 1024
"""Numbers of a tensor. All of it would cost as much as a step of a large model."""
EVERY = 256
FEWER_FROM, FEWER = 8192, 2048
"""Steps between two looks in a long run."""
_SIGNS = np.random.default_rng(20261118).integers(0, 2, SAMPLE).astype(np.float64) * 2 - 1


def due(step: int) -> bool:
    """Whether all ranks look at their weights at this step: the same answer everywhere, whatever a rank's own pace is."""
    return step < 3 or step & (step - 1) == 0 or step % (EVERY if step < FEWER_FROM else FEWER) == 0


def plain(tensor: torch.Tensor) -> bool:
    """Whether it can be read: it has numbers, and all of them (not a part of it, as where weights are divided among the ranks)."""
    usual = type(tensor) in (torch.Tensor, torch.nn.Parameter)
    return usual and tensor.layout == torch.strided and not tensor.is_meta and tensor.is_floating_point() and bool(tensor.numel())


def prints(tensors: Sequence[torch.Tensor]) -> Array:
    """A sum and a norm for each."""
    samples = [spread(t, SAMPLE) for t in tensors]
    row = join(samples).cpu().numpy().astype(np.float64)
    blocks = Blocks([s.numel() for s in samples])
    signs = np.concatenate([_SIGNS[: s.numel()] for s in samples])
    with np.errstate(over="ignore", invalid="ignore"):
        return np.stack([blocks.sums(row * signs), np.sqrt(blocks.sums(row * row))], axis=1)
