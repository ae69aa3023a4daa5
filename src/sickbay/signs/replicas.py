"""Whether the ranks of a distributed run train one model together."""

from __future__ import annotations

from sickbay.facts import Ranks


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
