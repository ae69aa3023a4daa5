"""Whether a run's training loss is stuck: a question that several causes ask before they accuse."""

from __future__ import annotations

from sickbay.nouns import Sign
from sickbay.signs import Signs


def stuck(signs: Signs) -> Sign | None:
    """The sign that says so, if the loss did not fall, only creeps, ends at guessing, or rose."""
    for name in ("chance-level", "flat-loss", "diverging-loss", "slow-descent"):
        if found := signs.named(name):
            return found[0]
    return next((s for s in signs.named("early-plateau") if s.numbers["end"] > 0.85 * s.numbers["start"]), None)
