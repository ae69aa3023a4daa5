"""Where each rank's time goes, and which one the others wait for.

All ranks of synchronous training take the same time for a step: the slow one computes, the others wait for it in the backward pass or in a collective. So the time
that a rank spends outside of these is its own work, and the rank with most of it is the one that sets the pace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sickbay.facts import Lag
from sickbay.record.ranks.member import tables_of

SEGMENTS = 16
"""Stretches of a run by which ranks are compared: noise evens out within one, and what lasts shows in all."""
FIRST = 8
"""Steps that are left out: caches, compilers, and our own first looks."""
FEWEST = 32
ALIKE = 1.1
"""Longest mean step over shortest: ranks that wait for each other differ by the last step only."""
PARTS = ("loading", "forward", "rest")
NAMES = ("time/step", "time/data", "time/forward", "time/backward", "time/collectives", "time/own")
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Times:
    """Of one rank: seconds per step."""

    segments: Array
    """Means by segment: loading, forward, rest, waiting, the step, and the step with what watching it cost, for which the others wait, too."""
    usual: Array
    """The medians of the same over the whole run."""
    steps: int

    @property
    def means(self) -> tuple[float, float, float, float]:
        mean = self.segments.mean(axis=0)
        return float(mean[0]), float(mean[1]), float(mean[2]), float(mean[3])


def times_of(path: Path) -> Times | None:
    """None if the run was too short, or its steps were too short to be timed one by one."""
    columns: list[tuple[Any, Any]] = []
    for names, _, steps, values in tables_of(path, "l.family = 'pulse' AND l.names LIKE '%time/forward%'", ()):
        at = [names.index(n) if n in names else -1 for n in NAMES]
        table = np.stack([values[:, i, 0] if i >= 0 else np.zeros(len(steps), np.float32) for i in at], axis=1)
        columns.append((steps, table))
    if not columns:
        return None
    steps = np.concatenate([s for s, _ in columns])
    table = np.concatenate([t for _, t in columns])[np.argsort(steps, kind="stable")].astype(np.float64)[FIRST:]
    if len(table) < FEWEST or not np.isfinite(table).all():
        return None
    whole, loading, forward, backward, collectives, watching = table.T
    waiting = backward + collectives
    rest = np.maximum(whole - loading - forward - waiting, 0.0)
    parts = np.stack([loading, forward, rest, waiting, whole, whole + watching], axis=1)
    segments = np.stack([part.mean(axis=0) for part in np.array_split(parts, SEGMENTS)])
    return Times(segments, np.median(parts, axis=0), len(table))


def lag_of(ranks: Sequence[int], times: Sequence[Times]) -> Lag | None:
    """The rank that was waited for most."""
    if len(times) < 2 or len(times) != len(ranks):
        return None
    work = np.stack([t.segments[:, :3].sum(axis=1) for t in times])  # rank, segment
    last = np.argmax(work, axis=0)
    ordered = np.sort(work, axis=0)
    behind = ordered[-1] - ordered[-2]
    waited = np.array([behind[last == r].sum() for r in range(len(ranks))])
    slow = int(np.argmax(waited))
    others = [i for i in range(len(ranks)) if i != slow]
    mean = np.stack([t.segments.mean(axis=0) for t in times])
    usual = np.stack([t.usual for t in times])
    rival = np.median(mean[others, :3], axis=0)
    part = int(np.argmax(mean[slow, :3] - rival))
    steps = min(t.steps for t in times)
    excess = float(mean[slow, :3].sum() - mean[others, :3].sum(axis=1).max())
    return Lag(
        rank=ranks[slow],
        part=PARTS[part],
        own=float(mean[slow, part]),
        others=float(rival[part]),
        excess=excess,
        step=float(mean[:, 4].mean()),
        usual=float(usual[slow, :3].sum() - usual[others, :3].sum(axis=1).max()),
        alike=bool(mean[:, 5].max() <= ALIKE * mean[:, 5].min()),
        always=float(waited[slow] / max(waited.sum(), 1e-12)),
        steps=steps,
        seconds=excess * steps,
    )
