"""The narrowest place that everything on its way to a prediction has to pass."""

from __future__ import annotations

import math

from sickbay import facts
from sickbay.observe.observer import LossCall
from sickbay.observe.reading import Reading
from sickbay.observe.trace import Node


def read(reading: Reading) -> None:
    for call in reading.calls:
        maker = reading.trace.maker(call.input)
        if maker is not None and reading.behind[maker] and reading.site.reads < 2:
            waist = _waist(reading, call, maker)
            if waist is not None:
                reading.add("waists", waist.op.place, waist)


def _waist(reading: Reading, call: LossCall, maker: int) -> facts.Waist | None:
    shape = tuple(call.input.shape)
    samples = shape[0] if len(shape) > 1 else 0
    on_the_way = _on_the_way(reading, maker)
    if samples < 2 or not on_the_way:
        return None
    passed = [n for n in _all_pass(reading, on_the_way) if n.index != maker and n.shape and math.prod(n.shape) % samples == 0 and samples in n.shape]
    learned = [n for n in passed if reading.behind[n.index]]
    narrowest = min(learned, key=lambda n: math.prod(n.shape), default=None)
    if narrowest is None:
        return None
    source = reading.producer(narrowest.index) or narrowest
    return facts.Waist(
        op=reading.op(source),
        width=math.prod(narrowest.shape) // samples,
        outputs=math.prod(shape) // samples,
        rebuilds=call.target is not None and _is_input(reading, on_the_way, call),
    )


def _on_the_way(reading: Reading, maker: int) -> list[Node]:
    """Operations between the data and the prediction, in order: made from data, and used for it."""
    from_data: set[int] = set()
    ancestors = sorted(reading.trace.ancestors(maker), key=lambda n: n.index)
    for node in ancestors:
        if any(i in from_data for i in node.inputs) or reading.takes_data(node):
            from_data.add(node.index)
    return [n for n in ancestors if n.index in from_data]


def _all_pass(reading: Reading, nodes: list[Node]) -> list[Node]:
    """Those that no way leads around: no value made before is used after, and no data come in later."""
    used_until: dict[int, int] = {}
    last_data = -1
    for node in nodes:
        for i in node.inputs:
            used_until[i] = node.index
        if reading.takes_data(node):
            last_data = node.index
    found, reach = [], last_data
    for node in nodes:
        if reach <= node.index:
            found.append(node)
        reach = max(reach, used_until.get(node.index, -1))
    return found


def _is_input(reading: Reading, nodes: list[Node], call: LossCall) -> bool:
    """The target is what the model was given: an autoencoder."""
    target = call.target
    if target is not None and (maker := reading.trace.maker(target)) is not None:
        return maker in {n.index for n in nodes}
    return any(t is target or (t.data_ptr() == target.data_ptr() and t.shape == target.shape) for n in nodes for t in n.sources if target is not None)
