"""A replay: every operation is followed around one step, and the script is stopped once that step has ended.

`sickbay replay` runs the recorded command again with a variable set; then, and only then, this observer is there. Nothing else
differs from a watched run, so that the same numbers come out as far as the script itself can repeat them.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from sickbay.observe.blackbox import BlackboxWatch
from sickbay.observe.observer import Observer
from sickbay.observe.variables import REPLAY

if TYPE_CHECKING:
    from sickbay.observe.session import Session

LEAD = 2
"""Steps before the one of interest that are followed too: an update can break what the next step uses."""
UNREAD = 3
"""Readings of a loss after which its structure does not yet count as known, so that operations are noted in full."""


def replaying() -> int | None:
    """The step that is replayed in this process, if one is."""
    try:
        step = json.loads(os.environ.get(REPLAY, "null"))
    except ValueError:
        return None
    return step if type(step) is int else None


class ReplayWatch(Observer):
    """Looks closely around the step, then ends the script as `sys.exit()` at that place would."""

    name = "replay"
    sees = "the replay of a step"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.until = replaying() or 0
        session.closely = range(max(self.until - LEAD, 0), self.until + 2)
        session.governor.may_sleep = _never  # type: ignore[method-assign, assignment]

    def step_closed(self, step: int) -> None:
        box = next((o for o in self.session.observers if isinstance(o, BlackboxWatch)), None)
        if box is not None and box.kept is not None:
            self.until = min(self.until, step)  # it has happened: earlier than it did, maybe
        if step + 1 in self.session.closely:
            for site in self.session.sites.values():
                site.reads = min(site.reads, UNREAD)

    def step_planned(self) -> None:
        if self.session.step > self.until:
            if self.session.trace is not None:
                self.session.trace.end()
            raise SystemExit(0)  # in the thread that trains: its `finally` blocks run


def _never(_: Any) -> bool:
    return False
