"""Which rows enter a model, and which target each is compared with, where no module and no loss function of torch's makes it plain: read from the trace of one step.

A target is data that meets what depends on the weights: subtracted and squared, picked out by a class number, multiplied as a one-hot row or as yes and no.
It counts only if it is data as it came (nothing was computed or drawn on the way), if it is the only one, and if from there to the loss there are only means,
sums and signs: what is weighted by something else (advantages, masks) is another task. Inputs are the rows that first meet a weight on the way to the prediction.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from sickbay.observe.examples.targets import NUMBERS, Targets, classes_of, one_hot_classes
from sickbay.observe.reading import SHAPE_ONLY, Reading
from sickbay.observe.trace import Node

MOVED = SHAPE_ONLY | frozenset("stack cat concat tensor as_tensor from_numpy pin_memory detach long int bool numpy contiguous ravel narrow one_hot".split())
"""What only moves, casts or gathers data."""
FIRST = frozenset({"getitem", "index_select", "narrow", "select", "take"})
"""...of which only the first operand is data: the others say which rows."""
LOSSY = SHAPE_ONLY | frozenset(
    "neg mean sum pow square abs sqrt div true_divide truediv mul multiply add sub rsub nanmean logcosh "
    "log log1p log2 exp cosh clamp clamp_min relu softplus sigmoid logsigmoid maximum minimum where lt gt le ge".split()
)
"""What a loss may make of the difference (or the picked probability) of each row by itself."""
OF_TWO = frozenset({"max", "min"})
"""...if they are given two operands (a quantile loss); of one they choose among the rows."""
VIEWS = frozenset("view reshape squeeze unsqueeze flatten getitem contiguous ravel float double to long detach".split())
DIFFERENCE = frozenset({"sub", "rsub"})
PICKED = frozenset({"getitem", "gather", "take_along_dim"})
DRAWN = ("rand", "normal", "bernoulli", "multinomial", "poisson")
MOST_INPUTS = 4
YES_NO = (0.0, 1.0)


@dataclass(slots=True)
class Compared:
    """What one operation compares with what."""

    node: Node
    prediction: int
    """Which operand is made by the model,"""
    target: torch.Tensor
    """...and what the other is."""
    targets: Targets


def compared(reading: Reading) -> Compared | None:
    """The one comparison that a hand-written loss makes; None where there is none, or several, or it is not plain."""
    found: list[Compared] = []
    for node in reading.ancestors:
        for one in _comparisons(reading, node):
            if _plain(reading, node):
                found.append(one)
    if not found:
        return None
    first = found[-1]  # the earliest: `ancestors` has the nearest to the loss first
    alike = all(np.array_equal(first.targets.values, c.targets.values) or _opposite(first.targets, c.targets) for c in found)
    return first if alike else None


def _comparisons(reading: Reading, node: Node) -> Iterator[Compared]:
    if node.key is None or len(node.shapes) < 2:
        return
    sides = [reading.depends(node, i) for i in range(len(node.shapes))]
    if node.name in DIFFERENCE and len(sides) == 2 and sides[0] != sides[1] and node.shapes[0] == node.shapes[1]:
        yield from _aimed(reading, node, sides.index(True), _number)
    elif node.name in PICKED and sides[0] and not any(sides[1:]) and len(node.shapes[0]) == 2:
        yield from _aimed(reading, node, 0, _picked)
    elif node.name in ("mul", "multiply") and len(sides) == 2 and sides[0] != sides[1] and node.shapes[0] == node.shapes[1]:
        yield from _aimed(reading, node, sides.index(True), _marked)


def _aimed(reading: Reading, node: Node, prediction: int, read: Any) -> Iterator[Compared]:
    rows = node.shapes[prediction][0] if node.shapes[prediction] else 0
    held = []
    for i in range(len(node.shapes)):
        if i == prediction or not _raw(reading, node, i):
            continue
        tensor = _held(reading, node, i)
        targets = read(tensor.detach(), rows) if tensor is not None and tensor.is_cpu and rows > 1 else None
        if targets is not None and tensor is not None:
            held.append(Compared(node, prediction, tensor, targets))
    if len(held) == 1:
        yield held[0]


def _number(y: torch.Tensor, rows: int) -> Targets | None:
    """One number per row; or one-hot rows."""
    if y.dim() == 2 and y.shape[1] > 1:
        named = one_hot_classes(y) if len(y) == rows else None
        return classes_of(named) if named is not None else None
    if y.numel() != rows or y.dtype == torch.bool:
        return None
    values = y.reshape(-1).double().numpy()
    return Targets(NUMBERS, values.copy()) if np.isfinite(values).all() else None


def _picked(y: torch.Tensor, rows: int) -> Targets | None:
    """Class numbers; not places in the batch."""
    if y.is_floating_point() or y.dtype == torch.bool or y.numel() != rows:
        return None
    return classes_of(y.reshape(-1).numpy())


def _marked(y: torch.Tensor, rows: int) -> Targets | None:
    """One-hot rows, or yes and no."""
    if y.dim() == 2 and y.shape[1] > 1:
        return _number(y, rows)
    values = y.reshape(-1).double().numpy() if y.numel() == rows else np.zeros(0)
    if not len(values) or not np.isin(values, YES_NO).all():
        return None
    return classes_of(values)


def _opposite(one: Targets, other: Targets) -> bool:
    """y and 1 - y, as a hand-written cross-entropy has them."""
    return one.values.shape == other.values.shape and bool((one.values + other.values == 1).all())


def _raw(reading: Reading, node: Node, argument: int) -> bool:
    """Data as it came: only moved, cast or gathered."""
    todo = [node.args[argument]]
    seen: set[int] = set()
    while todo:
        index = todo.pop()
        if index is None or index in seen:
            continue
        seen.add(index)
        made = reading.trace.nodes[index]
        if made.name not in MOVED:
            return False
        todo += made.args[:1] if made.name in FIRST else made.args
    return True


def _held(reading: Reading, node: Node, argument: int) -> torch.Tensor | None:
    """The tensor that stood there; where the script holds it no longer, what it was a view of, or the rows that it was made of again."""
    tensor = reading.held(node, argument)
    for _ in range(4):
        maker = node.args[argument]
        if tensor is not None or maker is None:
            return tensor
        node, argument = reading.trace.nodes[maker], 0
        if node.name in FIRST and len(node.shapes) == 2:
            return _rows_again(node, _held(reading, node, 0), _held(reading, node, 1))
        if node.name not in VIEWS or not node.args or math.prod(node.shapes[0]) != math.prod(node.shape):
            return None
        tensor = reading.held(node, 0)
    return None


def _rows_again(node: Node, data: torch.Tensor | None, rows: torch.Tensor | None) -> torch.Tensor | None:
    """`y[rows]`, where nothing else can have been meant."""
    if data is None or rows is None or rows.dim() != 1 or rows.dtype not in (torch.int64, torch.int32) or not data.is_cpu:
        return None
    along_first = node.shape == (len(rows), *data.shape[1:]) and (data.dim() == 1 or len(data) != len(rows))
    return data.detach()[rows.long()] if along_first and not data.requires_grad else None


def _plain(reading: Reading, node: Node) -> bool:
    """From here to the loss there are only means, sums, signs, sizes and functions of each element by itself, and nothing else is multiplied in."""
    way, steps = {node.index}, []
    for other in sorted(reading.ancestors, key=lambda n: n.index):
        if not way.isdisjoint(other.inputs):
            way.add(other.index)
            steps.append(other)
    return all((s.name in LOSSY or (s.name in OF_TWO and len(s.shapes) == 2)) and _harmless(reading, s, way) for s in steps)


def _harmless(reading: Reading, node: Node, way: set[int]) -> bool:
    """Each further operand is a single number, the same value again, or (added) another part of the loss."""
    for i, maker in enumerate(node.args):
        if maker in way or not node.shapes[i] or all(s == 1 for s in node.shapes[i]):
            continue
        if node.name not in ("add", "sub", "rsub") or not reading.depends(node, i):
            return False
    return True


def entering(reading: Reading, prediction: int | None, rows: int, target: torch.Tensor) -> tuple[list[torch.Tensor], Any]:
    """The rows that first meet a weight on the way to a prediction, and where."""
    if prediction is None:
        return [], None
    found: dict[int, torch.Tensor] = {}
    key = None
    for node in reversed(reading.trace.ancestors(prediction)):
        if not reading.behind[node.index] or len(found) >= MOST_INPUTS:
            continue
        for i, shape in enumerate(node.shapes):
            if not shape or shape[0] != rows or reading.depends(node, i) or _drawn(reading, node.args[i]):
                continue
            tensor = _held(reading, node, i)
            if tensor is None:
                return [], None  # a part of the input is gone: what is left is not the whole
            if tensor is not target:
                found.setdefault(id(tensor), tensor.detach())
                key = key or node.key
    return list(found.values()), key


def _drawn(reading: Reading, maker: int | None) -> bool:
    made = reading.producer(maker)
    return made is not None and made.name.startswith(DRAWN)
