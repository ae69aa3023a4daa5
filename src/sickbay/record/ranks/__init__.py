"""The records of all processes of a distributed run, read together after it: which belong together, which one is to be diagnosed, and what they show side by side.

Nothing here was ever sent between the ranks. One record is read at a time, and of each only a few kilobytes are kept, so that thousands of ranks can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sickbay.facts import Ranks
from sickbay.record.ranks.chosen import chosen, summary
from sickbay.record.ranks.member import Member, together
from sickbay.record.ranks.rows import same_rows
from sickbay.record.ranks.times import Times, lag_of, times_of
from sickbay.record.ranks.weights import compared

__all__ = ["Member", "read_ranks", "together"]

MOST_MISSING = 64


def read_ranks(members: Sequence[Member]) -> tuple[Path, Ranks]:
    """The record that tells most, and what all of them show."""
    lead, because = chosen(members)
    world = max(m.rank.world_size for m in members)
    here = {m.rank.rank for m in members}
    missing = [r for r in range(world) if r not in here]
    times = [times_of(m.path) for m in members]
    ranks = Ranks(
        world_size=world,
        read=lead.rank.rank,
        because=because,
        all=tuple(summary(m, t) for m, t in zip(members, times, strict=True)),
        facts=tuple(replace(m.rank, rows=(), sketch=()) for m in members),
        missing=tuple(missing[:MOST_MISSING]),
        missing_count=len(missing),
        elsewhere=any(m.elsewhere for m in members),
        attempts=1 + max(m.rank.attempt for m in members),
        weights=compared(members),
        rows=same_rows(members),
        lag=lag_of([m.rank.rank for m in members], [t for t in times if isinstance(t, Times)]) if all(times) else None,
    )
    return lead.path, ranks
