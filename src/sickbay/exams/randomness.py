"""The random generators of a process, taken and put back."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Randomness:
    """The state of Python's, NumPy's and torch's own generators, and of its devices in use."""

    python: Any
    numpy: Any
    torch: Any
    devices: Any = None

    @classmethod
    def taken(cls) -> Randomness:
        import numpy as np
        import torch

        devices = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
        return cls(random.getstate(), np.random.get_state(), torch.random.get_rng_state(), devices)

    def restore(self) -> None:
        import numpy as np
        import torch

        random.setstate(self.python)
        np.random.set_state(self.numpy)
        torch.random.set_rng_state(self.torch)
        if self.devices is not None:
            torch.cuda.set_rng_state_all(self.devices)


@contextmanager
def own_randomness(seed: int = 0) -> Iterator[None]:
    """What is drawn inside leaves the script's own random numbers as they are."""
    import torch

    kept = Randomness.taken()
    try:
        torch.default_generator.manual_seed(seed)
        yield
    finally:
        kept.restore()


def seed_everything(seed: int) -> None:
    """Python, NumPy where it is loaded, torch on every device."""
    random.seed(seed)
    if (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.seed(seed % 2**32)
    if (torch := sys.modules.get("torch")) is not None:
        torch.manual_seed(seed)
