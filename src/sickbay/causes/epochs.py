"""How often a script went through its data, where no loader counts."""

from __future__ import annotations

from sickbay.record.reader import Record

SEVERAL = 3
"""Steps between two evaluations: what is evaluated more often says nothing of epochs."""


def went_through(record: Record) -> int | None:
    """By its loader, else by how often it evaluated; None if neither tells."""
    if record.facts.run.epochs >= 2:
        return record.facts.run.epochs
    by_loss = [e.passes for e in record.facts.evaluations] + [record.facts.modes.evaluation_passes]
    by_rows = [d.passes for d in record.facts.evaluation_data]  # where the loss is not one that we know
    return next((most for passes in (by_loss, by_rows) if 2 <= (most := max(passes, default=0)) <= record.facts.run.steps / SEVERAL), None)
