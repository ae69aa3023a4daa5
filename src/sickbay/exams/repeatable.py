"""`sickbay.deterministic(seed)`: everything that a seed and a switch can make repeatable."""

from __future__ import annotations

import os

from sickbay.exams.randomness import seed_everything


def deterministic(seed: int = 0) -> None:
    """Seed Python, NumPy and torch (loader workers take their seeds from torch) and choose algorithms that repeat themselves.

    Call it first, before the model and the loaders are built. An operation that has no repeatable version warns and runs as always.
    """
    import numpy as np  # noqa: F401  # loaded, so that it is seeded below
    import torch

    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    os.environ["PYTHONHASHSEED"] = str(seed % 2**32)  # for processes that are started from here on
    seed_everything(seed)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
