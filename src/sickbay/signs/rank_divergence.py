"""The ranks of a distributed run, which are meant to train one model, have different weights or make different numbers of steps."""

from __future__ import annotations

from collections.abc import Iterator

from sickbay.facts import Apart, Ranks
from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.registry import share, sign
from sickbay.signs.replicas import in_parts, one_model

LOOKS = 2
"""At which weights must differ: a single one could be taken in the middle of an update."""
STEPS_APART = 1
"""Ranks may be told of at different moments of their last step."""
FAR = 0.1


@sign("rank-divergence")
def rank_divergence(record: Record) -> Iterator[Sign]:
    ranks = record.facts.ranks
    if ranks is None or in_parts(ranks) or not one_model(ranks):
        return
    # Weights that come together again are averaged now and then, as local SGD and federated learning do.
    if ranks.weights is not None and len(ranks.weights.differ) >= LOOKS and ranks.weights.together_again is None:
        yield _weights(ranks.weights)
    elif (steps := _steps(ranks)) is not None:
        yield steps


def _weights(apart: Apart) -> Sign:
    return Sign(
        name="rank-divergence",
        where=apart.names[0] if apart.names else None,
        steps=(apart.differ[0], apart.differ[-1]),
        strength=share(apart.gap, 0.0, FAR),
        numbers={"gap": apart.gap, "tensors": float(apart.last_count or apart.count), "ranks": float(apart.ranks)},
        text=f"the weights of {apart.ranks} ranks differ from step {apart.differ[0]:,} on, and are {100 * apart.gap:.2g} % of their size apart at step {apart.differ[-1]:,}",
    )


def _steps(ranks: Ranks) -> Sign | None:
    """Only of ranks that came to their own end: one that was lost is a crash."""
    made = [s.steps for s in ranks.all]
    if not made or not all(s.finished and not s.crash for s in ranks.all) or max(made) - min(made) <= STEPS_APART:
        return None
    fewest = min(ranks.all, key=lambda s: s.steps)
    return Sign(
        name="rank-divergence",
        where=None,
        steps=(min(made), max(made)),
        strength=share(min(made) / max(made), 1.0, 0.5),
        numbers={"fewest": float(min(made)), "most": float(max(made)), "ranks": float(len(made))},
        text=f"rank {fewest.rank} made {min(made):,} steps, others up to {max(made):,}",
    )
