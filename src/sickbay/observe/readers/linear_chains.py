"""The weights of the model at work: what feeds each of them, and what bends the values between one and the next."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import torch

from sickbay import facts
from sickbay.observe.reading import SHAPE_ONLY, Reading
from sickbay.observe.trace import Node, trainable

_PRODUCTS = frozenset({"matmul", "mm", "rmatmul"})
_CONVOLUTIONS = frozenset("conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d".split())
MAPS = _PRODUCTS | _CONVOLUTIONS | {"linear", "addmm"}
"""Operations that a weight can do its work in."""
_AFFINE = frozenset(
    "dropout alpha_dropout feature_alpha_dropout dropout1d dropout2d dropout3d mean sum neg avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d "
    "adaptive_avg_pool2d adaptive_avg_pool3d pad flip roll repeat repeat_interleave interpolate upsample unbind unfold "
    "batch_norm cat stack concat concatenate hstack vstack diagonal pixel_shuffle".split()
)
"""Besides what only changes the shape: a weighted sum of the inputs, the same for every sample (batch norm: within a batch)."""
_SUMS = frozenset({"add", "radd", "iadd", "sub", "rsub", "isub"})
_SCALES = frozenset({"mul", "rmul", "imul", "div", "truediv", "itruediv"})
_TRANSPOSES = frozenset({"t", "T", "mT", "transpose", "permute", "swapaxes", "movedim"})
_RECURRENT = frozenset({"lstm", "gru", "rnn_tanh", "rnn_relu"})
MOST = 256
MOST_FOLLOWERS = 6
ENOUGH_READS = 4
"""Structure hardly changes; a weight outside any module has its name from the third step on."""
NONE: frozenset[int] = frozenset()


@dataclass(slots=True)
class _Value:
    """What is known of one operation's result."""

    weights_only: bool = False
    """Made from parameters alone: a transposed or masked weight."""
    maps: frozenset[int] = NONE
    """Its whole content is an affine function of the results of these maps (by node)."""
    affine: bool = False
    """...or of the model's inputs, by whatever ways lead there: sums around a block too."""
    behind: int = 0
    """All maps (and recurrent layers) that it was made from, bent or not: a bit set of nodes."""
    frozen: frozenset[int] = NONE
    """Frozen parameters (by id) that it was made from."""


@dataclass(slots=True)
class _Use:
    """One weight in one operation."""

    node: Node
    weight: torch.Tensor
    position: int
    transposed: bool
    data: _Value
    followers: list[str] = field(default_factory=list)


def read(reading: Reading) -> None:
    if reading.site.reads >= (ENOUGH_READS if reading.known("linear_maps") else 4 * ENOUGH_READS):
        return
    values: list[_Value] = []
    uses: dict[int, _Use] = {}
    leading = {node.index for node in reading.ancestors}
    for node in reading.trace.nodes:
        values.append(_follow(reading, node, values, uses, node.index in leading))
    names = {i: entry.name for i, use in uses.items() if (entry := reading.registry.entry(use.weight)) is not None}
    by_weight: dict[tuple[str, str], list[_Use]] = {}
    for index in sorted(leading & names.keys()):
        by_weight.setdefault((names[index], uses[index].node.name), []).append(uses[index])
    for key, same in by_weight.items():
        reading.add("linear_maps", key, _fact(reading, key[0], same, names), most=MOST)


def _follow(reading: Reading, node: Node, values: list[_Value], uses: dict[int, _Use], leads_to_loss: bool) -> _Value:
    made = [values[i] for i in node.inputs]
    parameters = [t for t in node.sources if _is_parameter(reading, t)]
    frozen = _union(v.frozen for v in made)
    _note_frozen(reading, node, parameters, frozen)
    value = _Value(
        weights_only=bool(made or parameters) and all(v.weights_only for v in made) and len(parameters) == len(node.sources),
        frozen=frozen.union(id(t) for t in parameters if not t.requires_grad),
    )
    if value.weights_only:
        return value
    for v in made:
        value.behind |= v.behind
    use = _use(reading, node, values)
    if use is not None:
        uses[node.index] = use
        value.maps, value.affine = frozenset({node.index}), use.data.affine
        value.behind |= 1 << node.index
    else:
        value.maps, value.affine = _passed_on(reading, node, values), _stays_affine(reading, node, values)
        value.behind |= (1 << node.index) * (node.name in _RECURRENT)
    if leads_to_loss and (use is not None or not value.maps or "norm" in node.name):  # else its result is thrown away
        for m in _union(v.maps for v in made):
            if len(uses[m].followers) < MOST_FOLLOWERS:
                uses[m].followers.append(node.name)
    return value


def _passed_on(reading: Reading, node: Node, values: list[_Value]) -> frozenset[int]:
    """The maps that the result is an affine function of; none when the operation bends, or mixes in anything else."""
    data = [values[i] for i in node.inputs if not values[i].weights_only]
    others = any(t.numel() > 1 and not _is_parameter(reading, t) for t in node.sources)
    if node.name in SHAPE_ONLY or node.name in _AFFINE:
        passes = node.name == "batch_norm" or len(data) == len(node.args)
    elif node.name in _SUMS:
        passes = not others and not _is_residual(data)
    else:
        passes = node.name in _SCALES and not others and len(data) == 1
    return _union(v.maps for v in data) if passes and data and all(v.maps for v in data) else NONE


def _stays_affine(reading: Reading, node: Node, values: list[_Value]) -> bool:
    """Whether an operation makes nothing but sums of what is an affine function of the model's inputs."""
    data = [values[i] for i in node.inputs if not values[i].weights_only]
    given = [t for t in node.sources if t.numel() > 1 and not _is_parameter(reading, t)]
    sums = node.name in SHAPE_ONLY or node.name in _AFFINE or node.name in _SUMS
    return all(v.affine for v in data) and (sums or (node.name in _SCALES and len(data) + len(given) == 1))


def _is_residual(data: list[_Value]) -> bool:
    """x + f(x): the sum goes around a block on purpose, so that the next one is fed by more than this block's last map."""
    return any(b.behind >> m & 1 for a in data for b in data if a is not b for m in a.maps)


def _is_parameter(reading: Reading, tensor: torch.Tensor) -> bool:
    return isinstance(tensor, torch.nn.Parameter) or trainable(tensor) or reading.registry.entry(tensor) is not None


def _note_frozen(reading: Reading, node: Node, parameters: list[torch.Tensor], behind: frozenset[int]) -> None:
    """Frozen weights in front of trained ones, and behind them."""
    if behind and node.grad and any(t.requires_grad for t in parameters):
        reading.registry.feeding_trained |= behind
    if parameters and any(node.attached[i] for i, maker in enumerate(node.args) if maker is not None):
        reading.registry.fed_by_trained.update(id(t) for t in parameters if not t.requires_grad)


def _use(reading: Reading, node: Node, values: list[_Value]) -> _Use | None:
    if node.name not in MAPS:
        return None
    sources = iter(node.sources)
    arguments = [next(sources) if maker is None else maker for maker in node.args]
    positions = (1, 0) if node.name in _PRODUCTS else (2,) if node.name == "addmm" else (1,)
    for position in (p for p in positions if p < len(arguments)):
        argument = arguments[position]
        weight, transposed = (argument, False) if isinstance(argument, torch.Tensor) else _behind(reading, argument, values)
        if weight is not None and weight.dim() >= 2 and _is_parameter(reading, weight):
            maker = node.args[1 if node.name == "addmm" else 1 - position]
            return _Use(node, weight, position, transposed, values[maker] if maker is not None else _Value(affine=True))
    return None


def _behind(reading: Reading, index: int, values: list[_Value]) -> tuple[torch.Tensor | None, bool]:
    """The one parameter that a transposed (masked, normalised) weight was made from, and whether it is turned."""
    transposed, node = False, reading.trace.nodes[index]
    while values[node.index].weights_only:
        transposed ^= node.name in _TRANSPOSES
        large = [t for t in node.sources if t.dim() >= 2]
        if large or len(node.inputs) != 1:
            return (large[0] if len(large) == 1 else None), transposed
        node = reading.trace.nodes[node.inputs[0]]
    return None, False


def _union(sets: Iterable[frozenset[int]]) -> frozenset[int]:
    return NONE.union(*sets)


def _fact(reading: Reading, name: str, uses: list[_Use], names: dict[int, str]) -> facts.LinearMap:
    use = uses[0]
    node, shape, later = use.node, use.node.shapes[use.position], [u.data for u in uses if u.data.behind]
    inputs, outputs, unit_axis = _sizes(node.name, shape, use.position)
    straight = bool(later) and all(v.maps for v in later)
    return facts.LinearMap(
        parameter=name,
        op=node.name,
        place=reading.place(node),
        trainable=use.weight.requires_grad,
        unit_axis=1 - unit_axis if use.transposed else unit_axis,
        inputs=inputs,
        outputs=outputs,
        fan_in=inputs * (math.prod(shape[2:]) if node.name in _CONVOLUTIONS else 1),
        grouped=node.name.startswith("conv") and "transpose" not in node.name and shape[1] != node.shapes[0][1 - len(shape)],
        follows=tuple(sorted({names[i] for v in later for i in v.maps if i in names})) if straight else (),
        after_map=bool(later),
        affine=all(u.data.affine for u in uses),
        followed_by=tuple(dict.fromkeys(f for u in uses for f in u.followers))[:MOST_FOLLOWERS],
    )


def _sizes(op: str, shape: tuple[int, ...], position: int) -> tuple[int, int, int]:
    """Inputs, outputs and the axis of the outputs, of a weight as the operation takes it."""
    if "transpose" in op:
        return shape[0], shape[1], 1
    if op in _CONVOLUTIONS:
        return shape[1], shape[0], 0
    if op == "linear" or (op in _PRODUCTS and position == 0):
        return shape[-1], shape[-2], 0
    return shape[-2], shape[-1], 1
