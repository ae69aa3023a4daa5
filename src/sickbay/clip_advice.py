"""`sickbay.suggest_clip`: where to clip gradients, from the norms that a run was seen to have."""

from __future__ import annotations

from pathlib import Path

from sickbay.causes.clip_limit import ClipAdvice, advise
from sickbay.record.reader import Record


def suggest_clip(record_or_run: Record | Path | str, optimizer: int = 0) -> ClipAdvice:
    """The limit for `clip_grad_norm_` that cuts one step in twenty of what was measured. Takes a record, or a run as `sickbay.open_run` does."""
    from sickbay.runs import open_run

    record = record_or_run if isinstance(record_or_run, Record) else open_run(record_or_run)
    return advise(record, optimizer)
