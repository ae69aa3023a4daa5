"""Whether random numbers are random: one sample is made several times, by two workers in two epochs, exactly as the loader's own workers are started.

A data set that holds a generator of its own gives each worker the same copy of it, and every epoch again: workers then repeat each other's augmentation, and epochs their own.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch

from sickbay.exams.scan.parts import parts_of
from sickbay.exams.scan.visit import map_style, remade
from sickbay.facts.scan import Augmentation

WORKERS = 2
TIMES = 3
"""That each worker makes the sample: one that never changes is not random."""


def augmentation(loader: Any, index: int = 0) -> Augmentation | None:
    """None where it cannot be asked: streams, loaders without workers (there is only one generator then), data sets whose samples never change."""
    if not map_style(loader) or loader.num_workers < 1 or not len(loader.dataset):
        return None
    first, second = _epoch(loader, index), _epoch(loader, index)
    mine = first[0::WORKERS]
    if not all(_differ(a, b) for a, b in pairwise(mine)):
        return Augmentation(random=False, workers=loader.num_workers)
    across = loader.num_workers > 1 and all(not _differ(a, b) for a, b in zip(mine, first[1::WORKERS], strict=True))
    epochs = not loader.persistent_workers and all(not _differ(a, b) for a, b in zip(mine, second[0::WORKERS], strict=True))
    return Augmentation(random=True, workers=loader.num_workers, same_across_workers=across, same_each_epoch=epochs)


def _epoch(loader: Any, index: int) -> list[Any]:
    """The same sample again and again, from worker 0, worker 1, worker 0..."""
    return list(remade(loader, WORKERS, [[index]] * (WORKERS * TIMES)))


def _differ(a: Any, b: Any) -> bool:
    return any(
        isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor) and (x.shape != y.shape or not torch.equal(x, y))
        for (_, x), (_, y) in zip(parts_of(a), parts_of(b), strict=False)
    )
