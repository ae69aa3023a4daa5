"""The ranks of a distributed run: one sentence for the head of a report, and a table."""

from __future__ import annotations

from collections.abc import Iterator

from sickbay.causes.lost_ranks import told
from sickbay.facts import Ranks, RankSummary
from sickbay.record.reader import Record
from sickbay.report import words
from sickbay.report.tables import Table

MOST_ROWS = 64
COLUMNS = ("rank", "steps", "ended", "first not finite", "loading", "forward", "other work", "backward and waiting", "record")


def rank_line(record: Record) -> str:
    """ "4; rank 3 is shown: it was the first whose loss was not finite (step 12)", or "" for a run of one process."""
    ranks = record.facts.ranks
    if ranks is None:
        return ""
    shown = f"rank {ranks.read} is shown" + (f": {ranks.because}" if ranks.because else "")
    parts = [str(ranks.world_size), shown, *told(record), *_alike(ranks)]
    return words.clean("; ".join(parts))


def _alike(ranks: Ranks) -> Iterator[str]:
    """What was compared and found in order."""
    if ranks.weights is not None and not ranks.weights.differ and len(ranks.weights.steps) > 1:
        yield f"weights equal at {len(ranks.weights.steps)} looks up to step {ranks.weights.steps[-1]:,}"
    if ranks.rows is not None and not ranks.rows.same:
        yield f"no batch in common among the first {ranks.rows.batches}"


def rank_table(record: Record) -> Table:
    ranks = record.facts.ranks
    rows = ranks.all[:MOST_ROWS] if ranks is not None else ()
    return Table(COLUMNS, tuple(_row(s, record.facts.run.cwd) for s in rows))


def _row(s: RankSummary, folder: str) -> tuple[str, ...]:
    broken = f"{s.broken}, step {s.broken_step:,}" if s.broken_step is not None else ""
    timed = s.loading + s.forward + s.rest + s.waiting > 0
    times = tuple(f"{1000 * t:.1f} ms" if timed else "" for t in (s.loading, s.forward, s.rest, s.waiting))
    return (str(s.rank), f"{s.steps:,}", _ended(s, folder), broken, *times, words.clean(s.record))


def _ended(s: RankSummary, folder: str) -> str:
    if s.crash:
        where = words.place(s.crash_at, folder)
        return words.clean(s.crash) + (f", {where}" if where else "") + (" (lost contact)" if s.lost_contact else "")
    return "finished" if s.finished else "from outside, or still running"
