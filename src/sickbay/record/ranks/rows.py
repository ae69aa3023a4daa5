"""The rows that ranks were trained on, side by side: batch by batch in their order, and over the whole first epoch."""

from __future__ import annotations

from collections.abc import Sequence

from sickbay.facts import SameRows
from sickbay.record.ranks.member import Member

MOST_PAIRS = 16
WHOLE = 0.9
"""Of the data set: a rank that saw so much of it in its first epoch went through all of it (the last incomplete batch may be left out)."""


def same_rows(members: Sequence[Member]) -> SameRows | None:
    """None if fewer than two ranks told of their rows."""
    known = [m for m in members if m.rank.rows]
    if len(known) < 2:
        return None
    length = min(len(m.rank.rows) for m in known)
    given: dict[tuple[int, tuple[int, ...]], int] = {}
    shared: dict[int, list[int]] = {}
    for m in known:
        for at, rows in enumerate(m.rank.rows[:length]):
            first = given.setdefault((at, rows), m.rank.rank)
            if first != m.rank.rank:
                shared.setdefault(m.rank.rank, []).append(first)
    most = max((len(with_) for with_ in shared.values()), default=0)
    pairs = [(max(set(with_), key=with_.count), rank) for rank, with_ in shared.items() if len(with_) == most]
    distinct = min(len(set(m.rank.rows[:length])) for m in known)
    return SameRows(batches=length, ranks=len(known), same=most, pairs=tuple(sorted(pairs)[:MOST_PAIRS]), distinct=distinct, overlap=_overlap(known))


def _overlap(known: Sequence[Member]) -> float | None:
    """How much of what the first rank saw in its first epoch the others saw too; only where each went through its whole data set."""
    if not all(m.loader is not None and m.loader.samples and m.rank.rows_seen >= WHOLE * m.loader.samples for m in known):
        return None
    first = known[0].rank.sketch
    return min(alike(first, m.rank.sketch) for m in known[1:])


def alike(a: Sequence[int], b: Sequence[int]) -> float:
    """The share of all rows of two ranks that both saw, from the smallest keys of each."""
    size = min(len(a), len(b))
    smallest = sorted({*a, *b})[:size]
    both = set(a) & set(b)
    return sum(k in both for k in smallest) / max(len(smallest), 1)
