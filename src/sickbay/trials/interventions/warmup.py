"""The learning rate rises to the script's own over the first steps."""

from __future__ import annotations

from sickbay.trials.control import Control
from sickbay.trials.registry import intervention
from sickbay.trials.values import share_or_count


@intervention(
    "raise the learning rate from near zero over the first steps: 10% of them, or so many", parse=share_or_count, default="10%", label="warm-up {}"
)
def warmup(control: Control, value: float | int) -> None:
    steps = max(1, round(value * control.total) if isinstance(value, float) else value)
    control.rate(lambda group, given, step: given * min(1.0, (step + 1) / steps))
    control.gradients_by_hand(lambda step: min(1.0, (step + 1) / steps))
