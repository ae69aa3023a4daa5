"""The call that makes a script's loss, and the weights that it is given."""

from __future__ import annotations

import ast

from sickbay.facts import Head
from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Source, keyword, source_at
from sickbay.script.guesses import guess
from sickbay.script.lineage import Lineage
from sickbay.script.prepared import guessed
from sickbay.script.statement_kinds import given_names, named_in

TAKES = {"pos_weight": ("binary_cross_entropy_with_logits",), "weight": ("cross_entropy", "nll_loss")}
"""Which loss functions take which kind of weight."""


def loss_place(record: Record) -> Place | None:
    """Where weights belong: the line that works them out, if there is one; else the one that builds the loss, or calls it."""
    head, found = first_head(record), loss_call(record)
    if found is not None and (made := weights_at(*found)) is not None:
        return made
    return found[0].place(found[1].lineno) if found is not None else head.called_at if head is not None else None


@guess
def weights_at(source: Source, call: ast.Call) -> Place | None:
    """`weights = counts / counts.sum()` of `nn.CrossEntropyLoss(weight=weights)`: there are weights, and they do not help."""
    given = [k.value for name in TAKES if (k := keyword(call, name)) is not None]
    made = [s for value in given for s in Lineage(source).of(value) if given_names(s) & named_in(value)]
    return guessed(source, made[-1]) if made else None  # the first of several steps


def first_head(record: Record) -> Head | None:
    return next((h for loss in record.facts.losses for h in loss.heads), None)


def loss_call(record: Record) -> tuple[Source, ast.Call] | None:
    """The call that builds the loss, else the function's own where it is called."""
    head = first_head(record)
    source = source_at(record, head.called_at) if head is not None else None
    if source is None or head is None or head.called_at is None:
        return None
    built = source.calls(head.module) if head.module else source.calls(head.function, line=head.called_at.line)
    return (source, built[0]) if len(built) == 1 else None


def weighted(call: ast.Call) -> bool:
    return any(keyword(call, name) is not None for name in TAKES)


def yes_and_no_otherwise(head: Head) -> bool:
    """Two labels, none negative, in a loss that is made for 0 and 1 and refuses nothing: 1 and 2, 0 and 255."""
    target, all_count = head.target, head.reduction in ("mean", "sum") and not head.weighted
    if head.function != "binary_cross_entropy_with_logits" or target is None or not all_count:
        return False
    return len(target.distinct) == 2 and target.distinct[0] >= 0 and target.distinct[1] > 1
