"""The loss falls a little, then stands still well above its start's half."""

from __future__ import annotations

from collections.abc import Iterator

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.curves import end, fell, level, start, trend_share
from sickbay.signs.losses import enough, judged_losses
from sickbay.signs.registry import share, sign

MINIMUM_STEPS = 100
HIGH = 0.7
"""Above 0.7 of its start. Many honest problems end there (noisy labels, label smoothing), so alone it means nothing."""
DONE = 0.1
"""The second half made less than a tenth of the descent."""


@sign("early-plateau")
def early_plateau(record: Record) -> Iterator[Sign]:
    for c, _ in judged_losses(record):
        if len(c) < enough(record, MINIMUM_STEPS, 12) or not fell(c):
            continue
        first, last = start(c), end(c)
        middle = level(c.values[len(c) // 2 :][: max(5, len(c) // 10)], c.noise)
        if last.value > HIGH * first.value > 0 and trend_share(c) < DONE and last.value < first.value + 4 * first.error:
            yield Sign(
                name="early-plateau",
                where=c.name,
                steps=(int(c.steps[len(c) // 2]), int(c.steps[-1])),
                strength=share(last.value / first.value, HIGH, 1.0),
                numbers={"start": first.value, "middle": middle.value, "end": last.value},
                text=f"the loss fell from {first.value:.4g} and then stands at {last.value:.4g} (already {middle.value:.4g} half-way)",
            )
