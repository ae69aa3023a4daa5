"""Activations on sampled steps: scale, zeros, saturation, and units (not elements) that never fire over a window."""

from __future__ import annotations

import math
from collections import deque
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sickbay.facts import HISTOGRAM_BINS
from sickbay.observe.numbers import Array, Blocks, join, rows
from sickbay.observe.observer import Observer
from sickbay.observe.places import place_of
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
STRETCH = 16
WINDOW = 16
"""Sampled steps over which a unit must stay silent to be called dead: up to 512 rows."""
ENOUGH_ROWS = 96
"""Fewer rows than this say nothing about a unit that fires for one input in thirty."""
MOST_SITES = 256
RAIL = 0.01
"""A sigmoid or tanh within 1 % of its rail passes less than 4 % of the gradient."""


class Site:
    """One activation of the network, followed over the run."""

    __slots__ = ("fired",)

    def __init__(self) -> None:
        self.fired: deque[tuple[int, Any]] = deque(maxlen=WINDOW)


class Look:
    """The blocks taken in one step, end to end. The arithmetic waits."""

    __slots__ = ("histograms", "joined", "key", "step")

    def __init__(self, step: int, taken: dict[str, tuple[str, torch.Tensor]], histograms: bool) -> None:
        self.step = step
        self.key = tuple((name, kind, tuple(block.shape)) for name, (kind, block) in taken.items())
        """Name, operation and shape of each block."""
        self.joined = join([block for _, block in taken.values()])
        self.histograms = histograms


class ActivationWatch(Observer):
    """Takes a small block of each interesting output as it passes; the arithmetic waits until the step is over."""

    name = "activations"
    sees = "activations by layer"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.taken: dict[str, tuple[str, torch.Tensor]] = {}
        self.waiting: list[Look] = []
        self.sites: dict[str, Site] = {}
        self.last_layer: str = ""
        session.on_output.append(self.passed)
        session.wanted_outputs = _FUNCTIONS | _LAYERS

    def passed(self, node: Node, output: torch.Tensor) -> None:
        interesting = node.name in _FUNCTIONS or node.name in _LAYERS
        if not interesting or not node.grad or len(self.taken) >= MOST_SITES or not output.is_floating_point() or output.dim() < 2:
            return
        name = self._name(node)
        if name not in self.taken and (block := _block(output, node.name)) is not None:
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
            look = Look(session.step, self.taken, session.thorough)
            self.waiting.append(look)
            session.waiting_bytes += look.joined.nbytes
            self.taken = {}
            self.last_layer = ""
            session.sample_seconds += session.clock() - started

    def settle(self) -> None:
        """Do the arithmetic that has waited: many steps at once cost little more than one."""
        for key, looks in groupby(self.waiting, key=lambda look: look.key):
            self._measure(key, list(looks))
        self.waiting = []

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
            self._units(look.step, key, row, blocks)

    def _units(self, step: int, key: tuple[tuple[str, str, tuple[int, ...]], ...], row: Array, blocks: Blocks) -> None:
        dead: dict[str, float] = {}
        saturated: dict[str, float] = {}
        for (name, kind, shape), start, size in zip(key, blocks.starts, blocks.sizes, strict=True):
            if kind in RECTIFIERS:
                values = row[start : start + size].reshape(shape)
                site = self.sites.setdefault(name, Site())
                site.fired.append((len(values), (values > 0).any(axis=0)))
                if (share := _dead_share(site)) is not None:
                    dead[name] = share
            elif kind in _SATURATING:
                low, high = _SATURATING[kind]
                values = row[start : start + size]
                saturated[name] = float(((values < low + RAIL) | (values > high - RAIL)).mean())
        if dead:
            self.session.writer.frame("activation_dead", step, tuple(dead), list(dead.values()))
        if saturated:
            self.session.writer.frame("activation_saturated", step, tuple(saturated), list(saturated.values()))


def _dead_share(site: Site) -> float | None:
    units = len(site.fired[-1][1])
    same = [(rows, fired) for rows, fired in site.fired if len(fired) == units]
    if sum(rows for rows, _ in same) < ENOUGH_ROWS:
        return None
    return float(1.0 - np.logical_or.reduce([fired for _, fired in same]).mean())


def _block(x: torch.Tensor, op: str) -> torch.Tensor | None:
    """At most about ROWS x UNITS of an output, units last: channels of a picture or sequence, features of everything else.

    One view and one copy, whatever the shape: each further call on a step costs more than the arithmetic on it.
    """
    if x.layout != torch.strided or not x.numel():
        return None
    channels = x.dim() >= 4 or op.startswith("conv")
    units = 1 if channels else x.dim() - 1
    most = {2: (ROWS,), 3: (6, 6)}.get(x.dim(), (4, *(3 if x.dim() == 4 else 2 for _ in x.shape[2:]))) if not (channels and x.dim() == 3) else (4, 2)
    sizes, strides = [], []
    for dim, limit in zip((d for d in range(x.dim()) if d != units), most, strict=True):
        step = _stride(x.shape[dim], limit)
        sizes.append(-(-x.shape[dim] // step))
        strides.append(step * x.stride(dim))
    count, stride = x.shape[units], x.stride(units)
    if count > UNITS and not channels:
        # A few stretches of neighbours: single units far apart would each cost a cache miss.
        sizes += [UNITS // STRETCH, STRETCH]
        strides += [(count - STRETCH) // (UNITS // STRETCH - 1) * stride, stride]
    else:
        step = _stride(count, UNITS)
        sizes.append(-(-count // step))
        strides.append(step * stride)
    with torch.no_grad():
        copy = x.as_strided(sizes, strides).clone(memory_format=torch.contiguous_format)
        return copy.view(-1, UNITS if count > UNITS and not channels else sizes[-1])


def _stride(size: int, most: int) -> int:
    return max(1, -(-size // most))
