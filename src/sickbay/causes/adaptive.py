"""Which optimizers rescale each gradient by its own running size, so that a constant factor on all gradients hardly matters."""

from __future__ import annotations

from sickbay.facts import Optimizer
from sickbay.record.reader import Record

FAMILIES = ("adam", "adagrad", "adadelta", "adamax", "rmsprop", "rprop", "adafactor", "lion", "lamb", "lars", "muon", "sophia", "prodigy", "novograd")


def rescales(optimizer: Optimizer | None) -> bool:
    """Whether it divides by a running size of the gradient (or takes only its sign)."""
    return optimizer is not None and any(family in optimizer.kind.lower() for family in FAMILIES)


def optimizer_of(record: Record, index: int | None) -> Optimizer | None:
    return next((o for o in record.facts.optimizers if o.index == index), None)
