"""What the causes of distributed runs share: whether the ranks train one model together, and how ranks are called."""

from __future__ import annotations

from collections.abc import Sequence

from sickbay.facts import Ranks

UPDATES_APART = 1
"""Ranks may be told of at different moments of their last step."""


def one_model(ranks: Ranks) -> str:
    """Why the ranks must be meant to train one and the same model, in words; "" if that is not known (an ensemble, a sweep, workers of another kind)."""
    if wrapper := next((f.wrapper for f in ranks.facts if f.wrapper and not f.replicas), ""):
        return f"the model is wrapped in {wrapper}"
    if any(f.collectives.get("gradients") or f.collectives.get("late gradients") for f in ranks.facts):
        return "gradients are exchanged"
    if not in_parts(ranks) and all(f.joined and f.shard is not None and f.shard.replicas > 1 for f in ranks.facts):
        return f"a {next(f.shard.kind for f in ranks.facts if f.shard)} deals the data out to the ranks"
    return ""


def in_parts(ranks: Ranks) -> bool:
    """The ranks talk to each other inside forward passes and are not all kept alike by a wrapper: each may hold a part of the model, and needs the same data."""
    return any(f.collectives.get("forward") for f in ranks.facts) and not any(f.wrapper and not f.replicas for f in ranks.facts)


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
