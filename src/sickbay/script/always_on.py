"""Dropout as a function that is not told the mode: `F.dropout(x, p)` drops in evaluation too."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Source, called, is_number, keyword, receiver, source_at

NAMES = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")
TRAINING = 2
"""Position of `training` among the arguments."""


@dataclass(frozen=True)
class AlwaysOn:
    """One call that drops whatever the mode is."""

    source: Source
    call: ast.Call
    place: Place


def always_on(record: Record) -> list[AlwaysOn]:
    """Calls of functional dropout that feed a training loss and leave `training` at its default, which is True.

    Someone who writes `training=True` means it (Monte Carlo dropout); someone who leaves it out rarely does.
    """
    found: dict[tuple[str | None, int | None], AlwaysOn] = {}
    for loss in record.facts.losses:
        for op in loss.operations:
            if op.name not in NAMES or op.place is None:
                continue
            source = source_at(record, op.place)
            for call in source.calls(*NAMES, line=op.place.line) if source is not None else []:
                if source is not None and _forgets(source, call):
                    found.setdefault((op.place.file, op.place.line), AlwaysOn(source, call, op.place))
    return list(found.values())


def _forgets(source: Source, call: ast.Call) -> bool:
    owner = receiver(call)
    functional = owner is None or source.segment(owner).rpartition(".")[2] in ("F", "functional", "fn")
    given = keyword(call, "p")
    rate = given.value if given is not None else (call.args[1] if len(call.args) > 1 else None)
    never = is_number(rate) and not rate.value
    return functional and keyword(call, "training") is None and len(call.args) <= TRAINING and called(call) in NAMES and not never
