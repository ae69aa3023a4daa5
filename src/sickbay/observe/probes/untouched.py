"""Nothing outside the double may notice an experiment: random numbers, printed lines, autograd, autocast."""

from __future__ import annotations

import logging
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch


class _Nowhere:
    """Takes what a forward pass prints: the user has seen it once."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        raise OSError("not a file")


@contextmanager
def untouched() -> Iterator[Callable[[], None]]:
    """Inside, forward passes leave no trace. Gives a function that rewinds the random generators to where they were."""
    numpy = sys.modules.get("numpy")
    python, of_numpy, cpu = random.getstate(), numpy.random.get_state() if numpy else None, torch.get_rng_state()
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []
    cuda = [torch.cuda.get_rng_state(i) for i in devices]

    def rewind() -> None:
        random.setstate(python)
        if numpy is not None:
            numpy.random.set_state(of_numpy)
        torch.set_rng_state(cpu)
        for i, state in zip(devices, cuda, strict=True):
            torch.cuda.set_rng_state(state, i)

    out, error, quiet = sys.stdout, sys.stderr, logging.root.manager.disable
    nowhere: Any = _Nowhere()
    try:
        sys.stdout = sys.stderr = nowhere
        logging.disable(logging.CRITICAL)
        with ExitStack() as stack:
            stack.enter_context(torch.no_grad())
            # Inside autocast, a pass without gradients would leave its casts of the weights in autocast's cache.
            for kind in ("cpu", "cuda") if devices else ("cpu",):
                if torch.is_autocast_enabled(kind):
                    stack.enter_context(torch.autocast(kind, enabled=False))
            yield rewind
    finally:
        sys.stdout, sys.stderr = out, error
        logging.disable(quiet)
        rewind()
