"""What drops units in training, and how many of them."""

from __future__ import annotations

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
