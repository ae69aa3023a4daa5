"""Activations on sampled steps: scale, zeros, saturation, and units (not elements) that never fire over a window."""

from __future__ import annotations

import math
from collections import deque
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sickbay.facts import HISTOGRAM_BINS
from sickbay.observe.numbers import Array, Blocks, join, rows
from sickbay.observe.observer import Observer
from sickbay.observe.places import place_of
from sickbay.observe.scratch import Scratch
from sickbay.observe.trace import Node

if TYPE_CHECKING:
    from sickbay.observe.session import Session

RECTIFIERS = frozenset({"relu", "relu6", "relu_"})
_SATURATING = {"tanh": (-1.0, 1.0), "sigmoid": (0.0, 1.0), "hardtanh": (-1.0, 1.0), "hardsigmoid": (0.0, 1.0)}
_LAYERS = frozenset(
    "linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d layer_norm batch_norm group_norm lstm gru rnn_tanh "
    "rnn_relu embedding addmm matmul multi_head_attention_forward scaled_dot_product_attention bilinear".split()
)
_FUNCTIONS = frozenset("relu relu6 leaky_relu elu selu gelu silu mish sigmoid tanh softplus hardtanh hardsigmoid hardswish prelu".split())
ROWS, UNITS = 32, 128
"""A block is at most this many rows (samples, positions) of at most this many units."""
MOST_NUMBERS = 36 * UNITS
"""...or 6 x 6 rows of a sequence of vectors, 4 x 3 x 3 of a picture."""
STRETCH = 16
WINDOW = 16
"""Sampled steps over which a unit must stay silent to be called dead: up to 512 rows."""
ENOUGH_ROWS = 96
"""Fewer rows than this say nothing about a unit that fires for one input in thirty."""
MOST_SITES = 256
RAIL = 0.01
"""A sigmoid or tanh within 1 % of its rail passes less than 4 % of the gradient."""


class Site:
    """One rectifier of the network: which of its units fired in the newest looks."""

    __slots__ = ("counts", "fired", "rows")

    def __init__(self) -> None:
        self.fired: deque[tuple[int, Array]] = deque()
        self.counts: Array = np.zeros(0, np.int64)
        """In how many of these looks each unit fired,"""
        self.rows = 0
        """...and the rows of all of them."""

    def dead_share(self, rows: int, fired: Array) -> float | None:
        """With one more look: the share of units that stayed silent in all of them; None while that says nothing."""
        if len(fired) != len(self.counts):
            self.fired.clear()
            self.counts, self.rows = np.zeros(len(fired), np.int64), 0
        if len(self.fired) == WINDOW:
            old_rows, old = self.fired.popleft()
            self.counts -= old
            self.rows -= old_rows
        self.fired.append((rows, fired))
        self.counts += fired
        self.rows += rows
        return 1.0 - np.count_nonzero(self.counts) / max(len(fired), 1) if self.rows >= ENOUGH_ROWS else None


class Look:
    """The blocks taken in one step, end to end. The arithmetic waits."""

    __slots__ = ("histograms", "joined", "key", "step")

    def __init__(self, step: int, taken: dict[str, tuple[str, torch.Tensor]], scratch: Scratch, histograms: bool) -> None:
        self.step = step
        self.key = tuple((name, kind, tuple(block.shape)) for name, (kind, block) in taken.items())
        """Name, operation and shape of each block."""
        row = scratch.row(sum(math.prod(shape) for _, _, shape in self.key))
        self.joined = row if row is not None else join([block for _, block in taken.values()])
        self.histograms = histograms


class ActivationWatch(Observer):
    """Takes a small block of each interesting output as it passes; the arithmetic waits until the step is over."""

    name = "activations"
    sees = "activations by layer"
    takes = ("forward",)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.taken: dict[str, tuple[str, torch.Tensor]] = {}
        self.waiting: list[Look] = []
        self.sites: dict[str, Site] = {}
        self.last_layer: str = ""
        self.scratch = Scratch(MOST_SITES * MOST_NUMBERS)
        self.behind: dict[str, str] = {}
        """By function: the layer that came before its first use in this step."""
        session.on_output.append(self.passed)
        session.wanted_outputs = _FUNCTIONS | _LAYERS

    def passed(self, node: Node, output: torch.Tensor) -> None:
        interesting = node.name in _FUNCTIONS or node.name in _LAYERS
        if not interesting or not node.grad or len(self.taken) >= MOST_SITES or not output.is_floating_point() or output.dim() < 2:
            return
        name = self._name(node)
        if node.name in _FUNCTIONS and self.behind.setdefault(name, self.last_layer) != self.last_layer:
            name = f"{self.last_layer}.{node.name}"  # one nn.ReLU that stands behind several layers
        if name not in self.taken and (block := _block(output, node.name, self.scratch)) is not None:
            self.taken[name] = (node.name, block)

    def _name(self, node: Node) -> str:
        module = node.layer() if node.layer is not None else None
        layer = self.session.registry.layer_name(module) if module is not None else ""
        if module is not None and not any(True for _ in module.children()):
            name = layer or node.name
        elif node.name in _FUNCTIONS and self.last_layer:
            name = f"{self.last_layer}.{node.name}"
        else:
            line = place_of(*node.key).line if node.key is not None else 0
            name = f"{layer}.{node.name}".lstrip(".") + f" (line {line})"
        if node.name in _LAYERS:
            self.last_layer = name
        return name

    def step_begins(self, *_: Any) -> None:
        self._put_by()

    def step_closed(self, _: int) -> None:
        self._put_by()

    def _put_by(self) -> None:
        if self.taken:
            session = self.session
            started = session.clock()
            look = Look(session.step, self.taken, self.scratch, session.thorough)
            self.waiting.append(look)
            session.waiting_bytes += look.joined.nbytes
            self.taken = {}
            self.last_layer = ""
            self.behind = {}
            session.sample_seconds += session.clock() - started

    def settle(self) -> None:
        """Do the arithmetic that has waited: many steps at once cost little more than one."""
        for key, looks in groupby(self.waiting, key=lambda look: look.key):
            self._measure(key, list(looks))
        self.waiting = []
        if not self.taken:
            self.scratch.clear()

    def _measure(self, key: tuple[tuple[str, str, tuple[int, ...]], ...], looks: list[Look]) -> None:
        names = tuple(name for name, _, _ in key)
        steps = [look.step for look in looks]
        blocks = Blocks([math.prod(shape) for _, _, shape in key])
        values = rows([look.joined for look in looks])
        write = self.session.writer.frames
        for statistic, numbers in zip(("mean", "std", "max", "zero"), blocks.profile(values), strict=True):
            write(f"activation_{statistic}", steps, names, numbers)
        for look, row in zip(looks, values, strict=True):
            if look.histograms:
                write("activation_histogram", [look.step], names, blocks.histograms(row), HISTOGRAM_BINS)
        self._units(steps, key, values, blocks)

    def _units(self, steps: list[int], key: tuple[tuple[str, str, tuple[int, ...]], ...], values: Array, blocks: Blocks) -> None:
        dead: list[dict[str, float]] = [{} for _ in steps]
        saturated: dict[str, Array] = {}
        for (name, kind, shape), start, size in zip(key, blocks.starts.tolist(), blocks.sizes.tolist(), strict=True):
            part = values[:, start : start + size]
            if kind in RECTIFIERS:
                site = self.sites.setdefault(name, Site())
                fired_in: Array = np.any((part > 0).reshape(-1, *shape), axis=1)
                for told, fired in zip(dead, fired_in, strict=True):
                    if (share := site.dead_share(shape[0], fired)) is not None:
                        told[name] = share
            elif kind in _SATURATING:
                low, high = _SATURATING[kind]
                saturated[name] = ((part < low + RAIL) | (part > high - RAIL)).mean(axis=1)
        for step, told in zip(steps, dead, strict=True):
            if told:
                self.session.writer.frame("activation_dead", step, tuple(told), list(told.values()))
        if saturated:
            self.session.writer.frames("activation_saturated", steps, tuple(saturated), np.column_stack(list(saturated.values())))


def _block(x: torch.Tensor, op: str, scratch: Scratch) -> torch.Tensor | None:
    """At most about ROWS x UNITS of an output, units last: channels of a picture or sequence, features of everything else.

    One view and one copy, whatever the shape: each further call on a step costs more than the arithmetic on it.
    """
    if x.layout != torch.strided or not x.numel():
        return None
    sizes, strides, last = _cut(tuple(x.shape), x.stride(), x.dim() >= 4 or op.startswith("conv"))
    return scratch.copy(x.detach().as_strided(sizes, strides)).view(-1, last)


@lru_cache(maxsize=4 * MOST_SITES)
def _cut(shape: tuple[int, ...], stride: tuple[int, ...], channels: bool) -> tuple[list[int], list[int], int]:
    """Sizes and strides of such a block, and its units: the same on every step, mostly."""
    dims = len(shape)
    units = 1 if channels else dims - 1
    most = {2: (ROWS,), 3: (6, 6)}.get(dims, (4, *(3 if dims == 4 else 2 for _ in shape[2:]))) if not (channels and dims == 3) else (4, 2)
    sizes, strides = [], []
    for dim, limit in zip((d for d in range(dims) if d != units), most, strict=True):
        step = _stride(shape[dim], limit)
        sizes.append(-(-shape[dim] // step))
        strides.append(step * stride[dim])
    count, apart = shape[units], stride[units]
    if count > UNITS and not channels:
        # A few stretches of neighbours: single units far apart would each cost a cache miss.
        sizes += [UNITS // STRETCH, STRETCH]
        strides += [(count - STRETCH) // (UNITS // STRETCH - 1) * apart, apart]
        return sizes, strides, UNITS
    step = _stride(count, UNITS)
    return [*sizes, -(-count // step)], [*strides, step * apart], -(-count // step)


def _stride(size: int, most: int) -> int:
    return max(1, -(-size // most))
