"""The loss falls, steadily, but has come only a small part of the way and shows no sign of levelling off."""

from __future__ import annotations

from collections.abc import Iterator

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.curves import end, fall, start, trend_share
from sickbay.signs.losses import enough, judged_losses
from sickbay.signs.registry import share, sign

MINIMUM_STEPS = 100
REMAINS = 0.75
"""Still above three quarters of its start at the end of the run..."""
STILL_FALLING = 0.3
"""...while the second half made at least 0.3 of the descent (0.5 is a straight line; a curve that levels off has about 0)."""


@sign("slow-descent")
def slow_descent(record: Record) -> Iterator[Sign]:
    for c, _ in judged_losses(record):
        if len(c) < enough(record, MINIMUM_STEPS, 10):
            continue
        first, last, (drop, error), late = start(c), end(c), fall(c), trend_share(c)
        if drop > 4 * error and last.value > REMAINS * first.value > 0 and late > STILL_FALLING:
            yield Sign(
                name="slow-descent",
                where=c.name,
                steps=(int(c.steps[0]), int(c.steps[-1])),
                strength=share(last.value / first.value, REMAINS, 1.0),
                numbers={"start": first.value, "end": last.value, "late_share": late},
                text=f"the loss only creeps from {first.value:.4g} to {last.value:.4g} in {len(c)} steps, in nearly a straight line",
            )
