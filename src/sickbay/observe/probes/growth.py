"""How the signal grows from one pass through a line of the model to the next, in the very first forward pass."""

from __future__ import annotations

import math
from types import CodeType
from typing import TYPE_CHECKING

import torch

from sickbay import facts
from sickbay.observe.places import expression_of, place_of
from sickbay.observe.registry import spread
from sickbay.observe.trace import Node

if TYPE_CHECKING:
    from sickbay.observe.session import Session

_SIGNAL = frozenset(
    "linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d matmul mm bmm addmm add radd iadd relu leaky_relu gelu silu elu tanh".split()
)
FEWEST = 4
"""Passes through one line: fewer show no law."""
MOST_PASSES, MOST_LINES, MOST_FACTS = 1024, 256, 8
BLOCK = 256
HUGE = 1e30
"""Stands for a signal that is not finite any more."""


class GrowthWatch:
    """Listens to the results of operations before the first update: what they show, no learning rate has caused."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.sizes: dict[tuple[CodeType, int, str], list[float]] = {}

    def passed(self, node: Node, output: torch.Tensor) -> None:
        session = self.session
        if session.step or session.backwards or node.key is None or not node.grad or node.name not in _SIGNAL:
            return
        if not output.is_floating_point() or output.dim() < 2 or output.numel() < 2 or output.layout != torch.strided:
            return
        key = (*node.key, node.name)
        if key not in self.sizes and len(self.sizes) >= MOST_LINES:
            return
        sizes = self.sizes.setdefault(key, [])
        if len(sizes) < MOST_PASSES:
            size = float(spread(output, BLOCK).float().square().mean().sqrt())
            sizes.append(size if math.isfinite(size) else HUGE)

    def told(self) -> tuple[facts.SignalGrowth, ...]:
        grown = [(key, sizes) for key, sizes in self.sizes.items() if len(sizes) >= FEWEST and sizes[0] > 0]
        grown.sort(key=lambda item: -item[1][-1] / item[1][0])
        return tuple(self._fact(*key, sizes) for key, sizes in grown[:MOST_FACTS])

    def _fact(self, code: CodeType, lasti: int, name: str, sizes: list[float]) -> facts.SignalGrowth:
        place = self.session.keep_source(place_of(code, lasti))
        middle = sizes[len(sizes) // 2]
        return facts.SignalGrowth(
            op=name, place=place, call=expression_of(code, lasti), passes=len(sizes), first=sizes[0], middle=middle, last=sizes[-1]
        )
