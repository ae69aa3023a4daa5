"""What the causes of distributed runs share: what the ranks have done, and how they are called."""

from __future__ import annotations

from collections.abc import Sequence

from sickbay.facts import Ranks

UPDATES_APART = 1
"""Ranks may be told of at different moments of their last step."""


def exchanged(ranks: Ranks) -> bool:
    """Whether gradients are averaged at all."""
    return any((f.through and f.wrapper) or f.collectives.get("gradients") for f in ranks.facts)


def called(ranks: Sequence[int], most: int = 6) -> str:
    """ "rank 3", "ranks 1 and 3", "ranks 1 to 7", "ranks 0, 2, 5 and 40 more"."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) > 2 and list(ranks) == list(range(ranks[0], ranks[0] + len(ranks))):
        return f"ranks {ranks[0]} to {ranks[-1]}"
    if len(ranks) > most:
        return f"ranks {', '.join(map(str, ranks[:most]))} and {len(ranks) - most} more"
    return f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"


def fewer_updates(ranks: Ranks) -> tuple[list[int], int, int]:
    """Ranks that made fewer updates than most, with their fewest and what the others made; only where all came to their own end."""
    most = max((s.steps for s in ranks.all), default=0)
    behind = [s for s in ranks.all if most - s.steps > UPDATES_APART and s.finished and not s.crash]
    whole = all(s.finished and not s.crash for s in ranks.all)
    return ([s.rank for s in behind], min(s.steps for s in behind), most) if behind and whole else ([], most, most)
