"""A loss that was not finite and that the script stopped at: it is still held by a variable, with its whole graph, when the process ends."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any

import torch

from sickbay.observe.places import USER, kind_of

MOST_VARIABLES = 2000


def leftover_loss() -> torch.Tensor | None:
    """The first attached scalar that is not finite: of the frames that an exception passed through, innermost first, then of the script itself."""
    return next((value for scope in _scopes() for value in list(scope.values())[:MOST_VARIABLES] if _broken(value)), None)


def _broken(value: Any) -> bool:
    if type(value) is not torch.Tensor or value.grad_fn is None or value.numel() != 1 or not value.is_cpu or value.is_complex():
        return False
    return not math.isfinite(value.item())


def _scopes() -> Iterator[dict[str, Any]]:
    frames = []
    trace = getattr(sys, "last_traceback", None)
    while trace is not None:
        if kind_of(trace.tb_frame.f_code) == USER:
            frames.append(trace.tb_frame)
        trace = trace.tb_next
    for frame in reversed(frames):
        yield frame.f_locals
    main = sys.modules.get("__main__")
    if main is not None:
        yield vars(main)
