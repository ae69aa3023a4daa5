"""What really is the argument of an operation: past constants that were added to it and clamps around it."""

from __future__ import annotations

from dataclasses import dataclass

from sickbay.observe.ranges import ranges_of
from sickbay.observe.reading import Reading
from sickbay.observe.trace import Node

_GUARDS = frozenset({"add", "radd", "clamp", "clamp_min", "clip", "clamp_", "add_", "iadd", "maximum", "max", "nan_to_num", "where"})
_LAYERS = frozenset(
    "linear addmm matmul mm bmm baddbmm einsum conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d bilinear batch_norm layer_norm".split()
)
_PRODUCTS = frozenset("matmul mm bmm baddbmm einsum".split())
_SUMS = frozenset({"add", "radd", "iadd", "add_", "dropout"})
_COMPLEMENTS = frozenset({"sub", "rsub"})


@dataclass(frozen=True)
class Argument:
    node: Node | None
    """The operation that made it."""
    guarded: bool
    complement: bool


def argument(reading: Reading, index: int | None) -> Argument:
    """The operation that made a value, past what only shifts or limits it by a constant."""
    guarded = complement = False
    node = reading.producer(index)
    while node is not None and shifts(reading, node):
        guarded |= node.name in _GUARDS
        complement |= node.name in _COMPLEMENTS
        node = reading.producer(next((i for i, on in zip(node.args, node.attached, strict=True) if on and i is not None), None))
    return Argument(node, guarded, complement)


def is_raw(reading: Reading, node: Node | None) -> bool:
    """Whether a value is a layer's own output: a linear map, maybe with a bias or a shortcut added."""
    for _ in range(4):
        if node is None or node.name in _LAYERS:
            return node is not None and (node.name not in _PRODUCTS or _of_weights(reading, node))
        if node.name not in _SUMS or any(m is None and not on for m, on in zip(node.args, node.attached, strict=True)):
            return False
        node = next((made for i in node.inputs if reading.behind[i] and (made := reading.producer(i)) is not None), None)
    return False


def _of_weights(reading: Reading, node: Node) -> bool:
    """A product with a weight as it is. Of two things that were both computed it may be anything: a mixture of probabilities, say."""
    return any(on and reading.producer(i) is None for i, on in zip(node.args, node.attached, strict=True))


def shifts(reading: Reading, node: Node) -> bool:
    """Whether an operation only shifts or limits a value: all else that goes in does not depend on the model."""
    return node.name in _GUARDS | _COMPLEMENTS and sum(reading.depends(node, i) for i in range(len(node.args))) == 1


def extent(reading: Reading, node: Node, argument: int) -> tuple[float, float] | None:
    """Smallest and largest value of one of the tensors that went into an operation."""
    maker = node.args[argument]
    if maker is None:
        source = node.sources[sum(m is None for m in node.args[:argument])]
        if not source.is_floating_point() or not source.numel() or source.is_meta:
            return None
        low, high = source.detach().aminmax()
        return low.item(), high.item()
    watch = ranges_of(reading.session)
    return watch.range(maker) if watch is not None else None
