"""Ranks that did not come to the end of a distributed run: which, after how many steps, and of what."""

from __future__ import annotations

from collections.abc import Iterator

from sickbay.causes.evidence import located, times
from sickbay.causes.ranked import called
from sickbay.facts import Ranks, RankSummary
from sickbay.record.reader import Record


def stopped(record: Record) -> list[RankSummary]:
    """Ranks that were ended from outside, or by an exception of their own: not those that merely lost contact with them, if any died first."""
    ranks = record.facts.ranks
    if ranks is None or record.facts.run.exit in (None, 0):  # still running, or all is well
        return [s for s in (ranks.all if ranks is not None else ()) if s.crash]
    dead = [s for s in ranks.all if s.crash or not s.finished]
    first = [s for s in dead if not s.lost_contact]
    silent = [s for s in first if not s.crash]
    # A launcher ends the other ranks when one has died: those that say nothing are then no news.
    return [s for s in first if s.crash] or silent or dead


def told(record: Record) -> Iterator[str]:
    """One clause for each thing that is worth a word."""
    ranks = record.facts.ranks
    if ranks is None:
        return
    if ranks.attempts > 1:
        yield f"started again {times(ranks.attempts - 1, 'time')} by the launcher; this is the last attempt"
    if ranks.missing_count:
        where = " here (they may have run on other machines)" if ranks.elsewhere else ""
        yield f"{called(ranks.missing)} left no record{where}"
    for s in stopped(record)[:3]:
        yield _ending(s)
    yield from _early(ranks, {s.rank for s in stopped(record)})


def _ending(s: RankSummary) -> str:
    if s.crash:
        return f"rank {s.rank} stopped with {s.crash}{located(s.crash_at)} after {times(s.steps, 'step')}"
    return f"rank {s.rank} was ended from outside, or died, after {times(s.steps, 'step')}"


def _early(ranks: Ranks, known: set[int]) -> Iterator[str]:
    """Ranks that left the loop before the others, without a word."""
    most = max(s.steps for s in ranks.all)
    early = [s for s in ranks.all if s.finished and not s.crash and s.rank not in known and s.steps < most - 1]
    if early:
        yield f"{called([s.rank for s in early])} made {min(s.steps for s in early):,} steps, the others up to {most:,}"


def lost(record: Record) -> str:
    """Why nothing of this run may be called healthy: a rank is gone. "" if none is, or if the record that was read tells of it itself."""
    ranks, run = record.facts.ranks, record.facts.run
    if ranks is None or run.exit in (None, 0):
        return ""
    own = next((s for s in ranks.all if s.rank == ranks.read), None)
    if own is not None and own.crash and not own.lost_contact:
        return ""
    gone = [s for s in stopped(record) if not s.lost_contact]
    if not gone and ranks.missing_count and not ranks.elsewhere:
        return f"{called(ranks.missing)} of {ranks.world_size} left no record, and the run ended with exit code {run.exit}: look at what the script printed there"
    if not gone:
        return ""
    others = ", and the others lost contact" if any(s.lost_contact for s in ranks.all) else ""
    return f"{_ending(gone[0])}{others}; the run ended with {'exit code ' if isinstance(run.exit, int) else ''}{run.exit}"
