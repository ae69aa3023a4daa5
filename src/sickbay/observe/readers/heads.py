"""The known loss functions that feed a training loss, and what goes into them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import torch

from sickbay import facts
from sickbay.observe.observer import LossCall
from sickbay.observe.readers.arguments import is_raw
from sickbay.observe.reading import SHAPE_ONLY, Reading, line_of
from sickbay.observe.trace import Node
from sickbay.observe.values import beyond, look, together

BOUNDS = {
    "relu": (0.0, float("inf")),
    "softplus": (0.0, float("inf")),
    "relu6": (0.0, 6.0),
    "sigmoid": (0.0, 1.0),
    "hardsigmoid": (0.0, 1.0),
    "softmax": (0.0, 1.0),
    "tanh": (-1.0, 1.0),
    "softsign": (-1.0, 1.0),
    "hardtanh": (-1.0, 1.0),
    "elu": (-1.0, float("inf")),
    "celu": (-1.0, float("inf")),
    "selu": (-1.7581, float("inf")),
    "silu": (-0.2785, float("inf")),
    "gelu": (-0.1701, float("inf")),
    "mish": (-0.3089, float("inf")),
    "hardswish": (-0.375, float("inf")),
    "logsigmoid": (float("-inf"), 0.0),
    "log_softmax": (float("-inf"), 0.0),
    "lstm": (-1.0, 1.0),
    "gru": (-1.0, 1.0),
    "rnn_tanh": (-1.0, 1.0),
    "rnn_relu": (0.0, float("inf")),
}
"""What can come out of an activation, or of a recurrent layer (whose output is one). With other settings than the default a
hardtanh, an ELU or an LSTM with a projection may exceed these: what was seen to come out is compared too."""
_FIXED = frozenset("relu sigmoid tanh softplus softsign selu silu gelu mish hardswish".split())
_INTEGERS = frozenset({"long", "to", "type", "int"})
MOST_CLASSES = 256
"""Whose weights are kept."""
LOOKS = 8
"""Values are looked at on this many reads: batches differ, but not for ever."""


def read(reading: Reading) -> None:
    on_the_way = {node.index for node in reading.ancestors}
    for call in reading.calls:
        maker = reading.trace.maker(call.output)
        if maker is None or maker not in on_the_way:
            continue
        key = (call.function, line_of(call.place))
        known = reading.known("heads")
        if key not in known:
            reading.add("heads", key, _head(reading, call, maker))
        if key in known and reading.looks_again("heads", key, LOOKS):
            known[key] = with_values(known[key], call.input, call.target)


def _head(reading: Reading, call: LossCall, maker: int) -> facts.Head:
    shape = tuple(call.input.shape)
    classes = shape[1] if call.function in ("cross_entropy", "nll_loss") and len(shape) > 1 else None
    node = reading.trace.nodes[maker]
    return facts.Head(
        function=call.function,
        called_at=call.place,
        call=call.call,
        module=call.module,
        input_shape=shape,
        target_shape=tuple(call.target.shape) if call.target is not None else (),
        input_dtype=str(call.input.dtype).removeprefix("torch."),
        target_dtype=str(call.target.dtype).removeprefix("torch.") if call.target is not None else "",
        classes=classes,
        reduction=_reduction(reading, call, maker),
        label_smoothing=float(call.options.get("label_smoothing") or 0.0),
        fed_by=tuple(reading.chain(reading.trace.maker(call.input))),
        raw=_raw(reading, reading.producer(reading.trace.maker(call.input))),
        target_source=_before_cast(reading, call.target),
        target_is_input=call.target is not None and _in_model(reading, call.target, node),
        target_is_learned=call.target is not None and all(_from_weights(reading, side) for side in (call.input, call.target)),
        shared_input=_shared(reading, node),
        weighted=any(s == shape for s in node.shapes[2:]),
        weights=_weights(call, classes),
    )


def _reduction(reading: Reading, call: LossCall, maker: int) -> str:
    """As the call says; a mean too where the loss is the mean of all its elements, taken by the script itself (`.mean()`, or a sum that is divided)."""
    named = str(call.options.get("reduction", "mean"))
    if named == "mean":
        return named
    last = reading.trace.maker(reading.loss) if named == "none" else None
    node = reading.trace.nodes[last] if last is not None else None
    if node is not None and node.name == "mean" and not node.shape and node.args and math.prod(node.shapes[0]) == call.output.numel():
        made = reading.producer(node.args[0])
        if made is not None and made.index == maker:
            return "mean"
    return "mean" if _is_divided_sum(reading.loss, call) else named


def _is_divided_sum(loss: torch.Tensor, call: LossCall) -> bool:
    """By its value: nothing else makes a sum of so many terms the same to five digits."""
    one_each = call.target is not None and not call.target.is_floating_point()
    terms = call.target.numel() if one_each and call.target is not None else call.input.numel()
    if not (loss.is_cpu and call.output.is_cpu) or loss.numel() != 1 or loss.is_complex() or terms < 2:
        return False
    mean, value = float(call.output.detach().double().sum()) / terms, float(loss.detach())
    return math.isclose(mean, value, rel_tol=1e-5)


def _weights(call: LossCall, classes: int | None) -> tuple[float, ...]:
    """Of each class, where the script gives them."""
    positive, each = call.options.get("pos_weight"), call.options.get("weight")
    if isinstance(positive, torch.Tensor) and positive.numel() == 1:
        return 1.0, float(positive)
    if classes is None or not isinstance(each, torch.Tensor) or each.numel() != classes or classes > MOST_CLASSES:
        return ()
    return tuple(each.flatten().tolist())


def _raw(reading: Reading, node: Node | None) -> bool:
    if node is not None and node.name in ("clamp", "clip", "clamp_"):
        node = reading.producer(node.args[0] if node.args else None)
    return is_raw(reading, node)


def with_values(head: facts.Head, given: torch.Tensor | None, target: torch.Tensor | None) -> facts.Head:
    """The head with one more look at its numbers."""
    if given is not None:
        head = replace(head, input=together(head.input, look(given)))
    if target is None:
        return head
    bounds = _bounds(head)
    missed = beyond(target, bounds) if bounds is not None and target.is_floating_point() else None
    outside, unreachable = missed or (head.outside, head.unreachable)
    if head.bounds is not None:  # the least over all looks: one odd batch proves nothing
        outside, unreachable = min(outside, head.outside), min(unreachable, head.unreachable)
    return replace(head, target=together(head.target, look(target)), bounds=bounds, outside=outside, unreachable=unreachable)


def _bounds(head: facts.Head) -> tuple[float, float] | None:
    last = head.last
    low, high = BOUNDS.get(last.name, (None, None)) if last is not None else (None, None)
    if last is None or low is None or high is None or head.input is None or not low <= head.input.minimum <= head.input.maximum <= high:
        # Without a look, only those whose range no setting changes.
        return (low, high) if last is not None and low is not None and high is not None and head.input is None and last.name in _FIXED else None
    return low, high


def _before_cast(reading: Reading, target: torch.Tensor | None) -> facts.Values | None:
    """Float data that the step itself casts to integers, `y.long()`."""
    maker = reading.trace.maker(target) if target is not None and not target.is_floating_point() else None
    while maker is not None:
        node = reading.trace.nodes[maker]
        if node.name in _INTEGERS and node.sources and node.args[0] is None and node.sources[0].is_floating_point():
            return look(node.sources[0])
        maker = node.args[0] if node.args and node.name in _INTEGERS | {"view", "reshape", "squeeze", "flatten"} else None
    return None


def _in_model(reading: Reading, target: torch.Tensor, head: Node) -> bool:
    """Whether the prediction was made from the target itself (or both from the same data, only reshaped)."""
    made = head.args[0] if head.args else None
    if made is None:
        return False
    before = reading.trace.ancestors(made)
    maker = reading.trace.maker(target)
    given = reading.trace.nodes[maker] if maker is not None else None
    while given is not None and given.name in SHAPE_ONLY and given.args:
        target, given = (given.sources[0], None) if given.args[0] is None else (target, reading.trace.nodes[given.args[0]])
    return given in before if given is not None else any(source is target for node in before for source in node.sources)


def _from_weights(reading: Reading, tensor: torch.Tensor) -> bool:
    """Whether weights had a part in these numbers: what is only shaped like a prediction (`ones_like`) has none of it."""
    todo, seen = [reading.trace.maker(tensor)], set[int]()
    while todo:
        index = todo.pop()
        if index is None or index in seen:
            continue
        seen.add(index)
        node = reading.trace.nodes[index]
        if node.name.endswith("_like") or node.name.startswith("new_"):
            continue
        if any(isinstance(source, torch.nn.Parameter) for source in node.sources):
            return True
        todo += node.args
    return False


def _shared(reading: Reading, head: Node) -> bool:
    """Whether the value that enters the loss function reaches the loss by another way too (`nll_loss(z, y) + z.logsumexp(1).mean()`)."""
    made = reading.producer(head.args[0]) if head.args else None
    if made is None:
        return False
    same = {made.index} | set(_copies(reading, made.index))
    return any(node is not head and node.index not in same and same & set(node.inputs) for node in reading.ancestors)


def _copies(reading: Reading, index: int) -> Iterator[int]:
    for node in reading.ancestors:
        if (
            node.args
            and node.index != index
            and node.args[0] is not None
            and (made := reading.producer(node.index)) is not None
            and made.index == index
        ):
            yield node.index
