"""Activations on sampled steps: scale, zeros, saturation, and units (not elements) that never fire over a window."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sickbay.facts import HISTOGRAM_BINS
from sickbay.observe.numbers import Blocks
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


class ActivationWatch(Observer):
    """Takes a small block of each interesting output as it passes; the arithmetic waits until the step is over."""

    name = "activations"
    sees = "activations by layer"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.taken: dict[str, tuple[str, torch.Tensor]] = {}
        self.sites: dict[str, Site] = {}
        self.names: dict[Any, str] = {}
        self.last_layer: str = ""
        self.used: dict[str, int] = {}
        session.on_output.append(self.passed)
        session.wanted_outputs = _FUNCTIONS | _LAYERS

    def passed(self, node: Node, output: torch.Tensor) -> None:
        interesting = node.name in _FUNCTIONS or node.name in _LAYERS
        if not interesting or not node.grad or len(self.taken) >= MOST_SITES or not output.is_floating_point() or output.dim() < 2:
            return
        name = self._name(node)
        if name not in self.taken and (block := _block(output.detach(), node.name)) is not None:
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
        self._write()

    def step_closed(self, _: int) -> None:
        self._write()

    def _write(self) -> None:
        if not self.taken:
            return
        session = self.session
        started = session.clock()
        names = tuple(self.taken)
        kinds = [kind for kind, _ in self.taken.values()]
        blocks = Blocks([block for _, block in self.taken.values()])
        exact = blocks.flat.astype(np.float64)
        mean = blocks.means(exact)
        spread = np.sqrt(np.maximum(blocks.means(exact * exact) - mean**2, 0))
        write, step = session.writer.frame, session.step
        write("activation_mean", step, names, mean)
        write("activation_std", step, names, spread)
        write("activation_max", step, names, blocks.largest())
        write("activation_zero", step, names, blocks.means((exact == 0).astype(np.float64)))
        if session.with_histograms:
            write("activation_histogram", step, names, blocks.histograms(), HISTOGRAM_BINS)
        self._write_units(names, kinds, blocks)
        self.taken = {}
        self.last_layer = ""
        session.sample_seconds += session.clock() - started

    def _write_units(self, names: tuple[str, ...], kinds: list[str], blocks: Blocks) -> None:
        dead: dict[str, float] = {}
        saturated: dict[str, float] = {}
        for i, (name, (kind, block)) in enumerate(self.taken.items()):
            values = blocks.flat[blocks.starts[i] : blocks.starts[i] + blocks.sizes[i]].reshape(block.shape)
            if kind in RECTIFIERS:
                site = self.sites.setdefault(name, Site())
                site.fired.append((len(values), (values > 0).any(axis=0)))
                if (share := _dead_share(site)) is not None:
                    dead[name] = share
            elif kind in _SATURATING:
                low, high = _SATURATING[kind]
                saturated[name] = float(((values < low + RAIL) | (values > high - RAIL)).mean())
        step = self.session.step
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
    """At most ROWS x UNITS of an output, units last: channels of a picture or sequence, features of everything else."""
    if x.layout != torch.strided or not x.numel():
        return None
    if x.dim() >= 4 or op.startswith("conv"):
        per_axis = 3 if x.dim() == 4 else 2
        x = x[:: _stride(x.shape[0], 4), :: _stride(x.shape[1], UNITS)]
        x = x[(slice(None), slice(None), *(slice(None, None, _stride(n, per_axis)) for n in x.shape[2:]))]
        return x.flatten(2).transpose(1, 2).reshape(-1, x.shape[1]).clone() if x.dim() > 2 else x.clone()
    x = x[..., :: _stride(x.shape[-1], UNITS)]
    if x.dim() == 2:
        return x[:: _stride(x.shape[0], ROWS)].clone()
    x = x[:: _stride(x.shape[0], 6)]
    x = x[(slice(None), *(slice(None, None, _stride(n, 6)) for n in x.shape[1:-1]))]
    return x.reshape(-1, x.shape[-1]).clone()


def _stride(size: int, most: int) -> int:
    return max(1, -(-size // most))
