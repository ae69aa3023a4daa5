"""Which layers of a run behave differently in train and eval mode."""

from __future__ import annotations

from sickbay.record.reader import Record

KINDS = ("Dropout", "AlphaDropout", "BatchNorm", "SyncBatchNorm")


def mode_sensitive(record: Record) -> list[str]:
    """Their names: those found in the wrong mode, else all that are known."""
    modes = record.facts.modes
    layers = [x for m in record.facts.models for x in m.layers if x.mode_sensitive or x.kind.startswith(KINDS)]
    return list(modes.layers_off or modes.sensitive) or [f"{x.name}: {x.kind}" for x in layers]
