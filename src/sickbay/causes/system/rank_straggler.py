"""One rank is always last, and all others wait for it.

## What happens

Synchronous training goes at the pace of its slowest rank. When one of them needs longer for its batch (a slow disk, no workers, longer samples) or for its forward pass (a machine that is shared or throttled,
more layers, work that only this rank does), every other rank stands still in the backward pass until it has caught up.

## How we know

Each rank times its own steps: waiting for the loader, the forward pass, everything else of its own, and the backward pass with collectives, in which ranks wait for each other. All steps take the same time on all
ranks; the one whose own part is longest is waited for. Means over sixteen stretches of the run are compared, so that noise, which hits one rank after the other, does not count; the first steps are left out.

## Looks like it but is not

- Ranks that take turns at being last.
- A first rank that logs and saves a bit more than the others.
- Ranks that do not wait for each other (their steps take different times), or do different work (other models).
- The first steps, and runs so short that nothing is lost.

## Fix

Make what is slow on that rank as fast as on the others: the same number of workers, its data on a local disk, samples of similar length dealt out evenly, evaluation and logging shared or less often.

## References

- https://docs.pytorch.org/docs/stable/notes/ddp.html (a backward pass ends when all ranks have sent their gradients).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sickbay.causes.evidence import strong
from sickbay.causes.ranked import called
from sickbay.causes.registry import cause
from sickbay.facts import Lag, Loader, Ranks, RankSummary
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.signs import Signs

SHARE, SHARE_NOW_AND_THEN = 0.2, 0.35
"""Of a step, lost at every one of them; or, by work that comes now and then (rank 0 evaluates), of the whole run. Two healthy ranks on one shared machine differ by up to a tenth."""
EXCESS = 0.005
"""Seconds of a step: less is the noise of an operating system."""
TOTAL = 1.0
"""Seconds in all: less is not worth a word."""
ALWAYS = 0.8
"""Of all waiting that was for this rank."""
STEADY = 0.5
WORDS = {"loading": "waiting for its batch", "forward": "the forward pass", "rest": "work of its own between its passes"}


@cause(
    code="S509",
    level="system",
    title="all ranks wait for one of them",
    why="Every step lasts as long as it does on the slowest rank: the others stand still meanwhile.",
    explains={"input-bound", "rank-lag", "loader-wait"},
    cure=None,
)
def rank_straggler(record: Record, signs: Signs) -> Iterator[Evidence]:
    ranks = record.facts.ranks
    lag = ranks.lag if ranks is not None else None
    if ranks is None or lag is None or not _waited_for(ranks, lag):
        return
    slow = next(s for s in ranks.all if s.rank == lag.rank)
    others = [s for s in ranks.all if s.rank != lag.rank]
    yield strong(
        f"rank {lag.rank} needs {_ms(lag.own)} of each step for {WORDS[lag.part]}, the others {_ms(lag.others)}: {_ms(lag.excess)} of a step of {_ms(lag.step)} are lost to it, "
        f"{lag.seconds:.1f} s in {lag.steps:,} steps, and {100 * lag.always:.0f} % of all waiting is for this rank",
        _place(record, lag),
        share=lag.excess / lag.step,
        excess=lag.excess,
    )
    mean = sum(s.waiting for s in others) / len(others)
    who = f"{called([s.rank for s in others])} {'spends' if len(others) == 1 else 'spend'}"
    yield strong(
        f"meanwhile {who} {_ms(mean)} of each step in the backward pass and in collectives, rank {lag.rank} {_ms(slow.waiting)}", waiting=mean
    )


def _waited_for(ranks: Ranks, lag: Lag) -> bool:
    usual = lag.usual >= STEADY * lag.excess
    share = lag.excess / max(lag.step, 1e-9)
    large = share >= (SHARE if usual else SHARE_NOW_AND_THEN) and lag.excess >= EXCESS and lag.seconds >= TOTAL
    same = len({f.model for f in ranks.facts}) == 1 and len(ranks.facts) == len(ranks.all)
    return large and lag.always >= ALWAYS and lag.alike and same and _others_wait(ranks.all, lag)


def _others_wait(all_ranks: Sequence[RankSummary], lag: Lag) -> bool:
    """What they need less for their own work they spend where ranks wait for each other."""
    slow = next(s for s in all_ranks if s.rank == lag.rank)
    return all(s.waiting - slow.waiting >= STEADY * lag.excess for s in all_ranks if s.rank != lag.rank)


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms" if seconds >= 0.002 else f"{1000 * seconds:.1f} ms"


def _loader(record: Record) -> Loader | None:
    return next((x for x in record.facts.loaders if x.role == "train"), None)


def _place(record: Record, lag: Lag) -> Place | None:
    loader = _loader(record)
    if lag.part == "loading" and loader is not None:
        return loader.item_at or loader.iterated_at
    if lag.part == "rest" and record.facts.ranks is not None and record.facts.ranks.read == lag.rank:
        shown = next((e.called_from or e.place for e in record.facts.evaluation_data), None)
        return replace(shown, guess=True) if shown is not None else None
    return record.facts.timeline.places.get("forward") if lag.part == "forward" else None


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    ranks = record.facts.ranks
    lag = ranks.lag if ranks is not None else None
    if lag is None or lag.part == "loading":
        return Fix(
            "make this rank's batches as fast as the others': workers, a local disk, samples of similar length on all ranks",
            "loader = DataLoader(dataset, ..., num_workers=4)",
        )
    if lag.part == "rest":
        return Fix("share out what only this rank does (evaluation, logging, saving), or do it less often")
    return Fix("look at what this rank's machine does besides, and whether its batches are larger or longer than the others'")
