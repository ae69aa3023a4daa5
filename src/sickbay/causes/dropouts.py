"""What drops units in training, and how many of them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from sickbay.causes.evidence import at, located
from sickbay.record.reader import Record
from sickbay.script.always_on import NAMES
from sickbay.script.fixing import is_number, keyword, source_at
from sickbay.script.naming import named_numbers

DROPS = re.compile(r"^(.*?): (\w*Drop\w*)\(p=([\d.]+)")
ENOUGH = 200
"""Numbers of a mask from which its rate is known to a few per cent."""
EXTREME = 0.85
"""No recipe drops as much in hidden layers; what is left counts seven times and more."""
NARROW = 0.15
"""Variance, beside the square of the whole, that dropping adds to sums over the units that are left: p / (1 - p) / inputs, over all such layers. Nine tasks were trained with three nets each at rates up to 0.8: where it was above
this, the weights had not grown and two fifths of the loss were left, validation ended 1.2 to 2.1 times as high as with the best rate. Nets of one or two wide layers (0.03) whose weights had not grown
either lost at most a tenth."""


def dropouts(record: Record) -> list[tuple[str, float]]:
    """What drops in training, with its rate: layers, calls of functional dropout whose rate stands beside them, else masks that the script draws itself."""
    found = [DROPS.match(text) for text in record.facts.modes.sensitive]
    layers = [(f"layer {m[1]}", float(m[3])) for m in found if m is not None] or [*dict(_functional(record)).items()]
    masks = [m for loss in record.facts.losses for m in loss.masks if m.count >= ENOUGH]
    return layers or [(f"a random mask{located(m.place)}", m.rate) for m in masks]


def _functional(record: Record) -> Iterator[tuple[str, float]]:
    """`F.dropout(x, 0.9, self.training)`; of `p=self.rate` the number that the name is given, if there is one only."""
    for op in (op for loss in record.facts.losses for op in loss.operations if op.name in NAMES and op.place is not None):
        source = source_at(record, op.place)
        for call in source.calls(*NAMES, line=op.place.line if op.place else None) if source is not None else []:
            given = keyword(call, "p")
            value = given.value if given is not None else call.args[1] if len(call.args) > 1 else None
            if source is not None and value is not None:
                numbers = [value] if is_number(value) else named_numbers(source, source.segment(value).rpartition(".")[2])
                if len(numbers) == 1 and isinstance(numbers[0].value, (int, float)):
                    yield at(op.place), float(numbers[0].value)


def variance_added(record: Record) -> float:
    """...to what arrives at the end of the net, by all its layers that drop, each by the number of inputs of the weights behind it."""
    rates = {name.removeprefix("layer "): p for name, p in dropouts(record) if p < 1}
    inputs = {p.layer: math.prod(p.shape[1:]) for p in record.facts.parameters if p.trainable and len(p.shape) >= 2}
    most = 0.0
    for model in record.facts.models:
        added, waiting = 0.0, 0.0
        for layer in model.layers:
            if layer.name in rates:
                waiting += rates[layer.name] / (1 - rates[layer.name])
            elif inputs.get(layer.name):
                added, waiting = added + waiting / inputs[layer.name], 0.0
        most = max(most, added)
    return most


def drowned(record: Record) -> bool:
    """Whether so much is dropped before so few units that what arrives at the end is noise for the most part, in the gradients too."""
    return max((p for _, p in dropouts(record)), default=0.0) >= EXTREME and variance_added(record) >= NARROW
