"""The weights of replicas at the same steps (`observe/weight_prints.py` took them): where and when they differ, and whether they come together again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sickbay.facts import Apart
from sickbay.nouns import Family
from sickbay.record.ranks.member import Member, family

Array = NDArray[np.float64]
EQUAL = 1e-6
"""Of the size of a tensor: the sums are kept in single precision, and another processor may round the last bit otherwise."""
OF_THE_WAY = 0.01
"""...of the way that training has moved it: replicas that exchange nothing are as far from each other as from where they began."""
FAR = 0.5
"""...for buffers, which may follow a rank's own batches a little."""
MOST_NAMES, MOST_RANKS = 16, 16


@dataclass(frozen=True)
class Beside:
    """One rank beside the first."""

    rank: int
    steps: NDArray[np.int64]
    names: tuple[str, ...]
    gap: Array
    """Distance by step and tensor,"""
    size: Array
    moved: Array
    """...of the first rank's tensors: their size, and how far they came; of both ranks, the sum of it."""
    states: tuple[bytes, ...]
    """What is the same for ranks with the same weights, by step."""

    @property
    def equal(self) -> NDArray[np.bool_]:
        return np.asarray(self.gap <= EQUAL * self.size + 1e-12)

    @property
    def differ(self) -> NDArray[np.bool_]:
        begun = np.arange(len(self.steps))[:, None] > 0
        return np.asarray(~self.equal & (~begun | (self.gap > OF_THE_WAY * self.moved)))


def compared(members: Sequence[Member]) -> Apart | None:
    """None if there are no replicas: other models, weights that are divided among the ranks, or nothing was taken."""
    replicas = replicas_of(members)
    if len(replicas) < 2 or any(m.rank.wrapper.startswith("FullySharded") for m in members):
        return None
    first = family(replicas[0].path, "weight_print")
    if first is None:
        return None
    found = [
        b for m in replicas[1:] if (other := family(m.path, "weight_print")) is not None and (b := beside(first, other, m.rank.rank)) is not None
    ]
    if not found:
        return None
    return _apart(found, first, replicas[0].rank.rank, _buffers(replicas))


def replicas_of(members: Sequence[Member]) -> list[Member]:
    """The ranks that hold the same model as the first one and are meant to keep it alike: all, or the group of its wrapper."""
    group = members[0].rank.replicas or tuple(m.rank.rank for m in members)
    return [m for m in members if m.rank.rank in group and m.rank.model and m.rank.model == members[0].rank.model]


def beside(first: Family, other: Family, rank: int) -> Beside | None:
    steps = np.intersect1d(first.steps, other.steps)
    names = tuple(n for n in first.names if n in set(other.names))
    if not len(steps) or not names:
        return None
    a, b = (_table(f, steps, names) for f in (first, other))
    whole = np.isfinite(a).all(axis=(1, 2)) & np.isfinite(b).all(axis=(1, 2))
    steps, a, b = steps[whole], a[whole], b[whole]
    if not len(steps):
        return None
    moved = np.abs(a[:, :, 0] - a[0, :, 0]) + np.abs(b[:, :, 0] - b[0, :, 0])
    states = tuple(row.tobytes() for row in b[:, :, 0])
    return Beside(rank, steps, names, np.abs(a[:, :, 0] - b[:, :, 0]), np.maximum(a[:, :, 1], b[:, :, 1]), moved, states)


def _table(f: Family, steps: Any, names: tuple[str, ...]) -> Array:
    column = {n: i for i, n in enumerate(f.names)}
    return np.asarray(f.values[np.searchsorted(f.steps, steps)][:, [column[n] for n in names]], np.float64)


def _apart(found: Sequence[Beside], first: Family, lead: int, buffers: tuple[str, ...]) -> Apart:
    steps = sorted(set.intersection(*({int(s) for s in b.steps} for b in found)))
    differ = sorted({int(s) for b in found for s in b.steps[b.differ.any(axis=1)]})
    seen = Apart(steps=tuple(steps), ranks=1 + len(found), parameters=len(found[0].names), buffers=buffers)
    if not differ:
        return seen
    begun, last = differ[0], differ[-1]
    names = _names_at(found, begun)
    gap, moved = _distance(found, last)
    return Apart(
        steps=seen.steps,
        ranks=seen.ranks,
        parameters=seen.parameters,
        differ=tuple(differ),
        together_again=_together_again(found),
        names=tuple(names[:MOST_NAMES]),
        count=len(names),
        last_count=len(_names_at(found, last)),
        gap=gap,
        moved=moved,
        others=_odd(found, first, lead, begun),
        buffers=buffers,
    )


def _names_at(found: Sequence[Beside], step: int) -> list[str]:
    names = {n for b in found for at in np.flatnonzero(b.steps == step) for n, d in zip(b.names, b.differ[at], strict=True) if d}
    return [n for n in found[0].names if n in names]


def _together_again(found: Sequence[Beside]) -> int | None:
    """The first step at which tensors are the same that were not before, on all ranks."""
    again: list[set[int]] = []
    for b in found:
        before = np.logical_or.accumulate(b.differ, axis=0)
        came = np.zeros(len(b.steps), bool)
        came[1:] = (before[:-1] & b.equal[1:]).any(axis=1)
        if before.any():
            again.append({int(s) for s in b.steps[came]})
    common = set.intersection(*again) if again else set()
    return min(common, default=None)


def _distance(found: Sequence[Beside], step: int) -> tuple[float, float]:
    """The largest distance of a rank from the first, and how far they came, as shares of the size of the tensors that differ."""
    best = (0.0, 0.0)
    for b in found:
        for at in np.flatnonzero(b.steps == step):
            which = b.differ[at]
            size = float(np.sqrt((b.size[at, which] ** 2).sum()))
            if which.any() and size:
                gap = float(np.sqrt((b.gap[at, which] ** 2).sum())) / size
                best = max(best, (gap, float(np.sqrt((b.moved[at, which] ** 2).sum())) / size / 2))
    return best


def _odd(found: Sequence[Beside], first: Family, lead: int, step: int) -> tuple[int, ...]:
    """The ranks that are not in the state that most are in; empty where no state is more common than others."""
    states = {b.rank: b.states[int(at)] for b in found for at in np.flatnonzero(b.steps == step)}
    own = _table(first, np.array([step]), found[0].names)[0, :, 0].tobytes()
    counts = Counter([*states.values(), own]).most_common(2)
    if len(counts) < 2 or counts[0][1] == counts[1][1]:
        return ()
    return tuple(r for r, state in sorted({**states, lead: own}.items()) if state != counts[0][0])[:MOST_RANKS]


def _buffers(replicas: Sequence[Member]) -> tuple[str, ...]:
    """Buffers that are far apart at each of the last two looks."""
    first = family(replicas[0].path, "buffer_print")
    names: dict[str, None] = {}
    for m in replicas[1:] if first is not None else ():
        other = family(m.path, "buffer_print")
        b = beside(first, other, m.rank.rank) if first is not None and other is not None else None
        if b is not None and len(b.steps) >= 3:
            far = (b.gap > FAR * b.moved / 2) & (b.gap > 0.1 * b.size) & ~b.equal
            names |= {n: None for j, n in enumerate(b.names) if far[-2:, j].all()}
    return tuple(names)[:MOST_NAMES]
