"""One rank of a distributed run is always last, and the others wait for it."""

from __future__ import annotations

from collections.abc import Iterator

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.registry import share, sign

SHARE = 0.2
"""Of a step: two healthy ranks on one machine that others use differ by up to a tenth."""
ALWAYS = 0.8
"""Of all waiting was for this rank: others take turns at being last."""
EXCESS, TOTAL = 0.005, 1.0
"""Seconds of a step, below which it is the noise of an operating system, and in all."""


@sign("rank-lag")
def rank_lag(record: Record) -> Iterator[Sign]:
    lag = record.facts.ranks.lag if record.facts.ranks is not None else None
    if lag is None or not lag.alike or lag.always < ALWAYS or lag.excess < EXCESS or lag.seconds < TOTAL or lag.excess < SHARE * lag.step:
        return
    yield Sign(
        name="rank-lag",
        where=None,
        steps=(0, max(lag.steps - 1, 0)),
        strength=share(lag.excess / lag.step, SHARE, 1.0),
        numbers={"rank": float(lag.rank), "excess": lag.excess, "step": lag.step, "always": lag.always},
        text=f"rank {lag.rank} is {1000 * lag.excess:.0f} ms of a {1000 * lag.step:.0f} ms step behind the others; {100 * lag.always:.0f} % of all waiting is for it",
    )
