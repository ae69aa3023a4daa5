"""Autograd's own graph of a loss: its nodes, nearest first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from sickbay.observe.forensics.live import Live


def _nodes(loss: torch.Tensor) -> Iterator[Any]:
    yield from Live(loss).nodes
