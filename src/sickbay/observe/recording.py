"""What a session writes: the record of this process, opened at the first need, and when facts and frames go to the disk."""

from __future__ import annotations

import math
import os
import time
from collections import deque
from pathlib import Path
from typing import Any

import torch

from sickbay.nouns import Place
from sickbay.record.writer import RecordWriter
from sickbay.settings import Settings

REPORT_SECONDS = 2.0
"""Facts are rewritten at most this often while the run goes on (and always at its end)."""
REPORT_SHARE = 0.002
"""...and so seldom that writing them takes less than this share of the time."""
EARLY_REPORTS = (1, 8)
"""...but after these steps in any case: a run that dies young leaves its facts too."""
LATER_REPORTS = (8, 64, 512)
"""...and so many steps after a later phase began: its model may be gone when the run ends, and what was known of it with it,"""
MOST_PHASES = 8
"""...for so many of them."""


class Recording:
    """The way to the disk."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self.path = path
        self.settings = settings
        self.started = time.time()
        self._writer: RecordWriter | None = None
        self._sources: set[str] = set()
        self._on_the_way: deque[tuple[int, str, torch.Tensor, Any]] = deque()
        self._reported = 0.0
        self._report_took = 0.0
        self._due_at = list(EARLY_REPORTS)
        self._phases = 0

    @property
    def opened(self) -> bool:
        return self._writer is not None

    @property
    def writer(self) -> RecordWriter:
        """Opened at the first need: a loader worker or a script that never trains leaves no file."""
        if self._writer is None:
            meta = {"rank": os.environ.get("RANK", "0"), "started": repr(self.started)}
            self._writer = RecordWriter(self.path, budget_bytes=self.settings.record_bytes, meta=meta)
        return self._writer

    def keep_source(self, place: Place | None) -> None:
        """Keep the text of the file a place points into."""
        if place is not None and place.file and place.file not in self._sources:
            self._sources.add(place.file)
            self.writer.source(place.file)

    # -- numbers from a device ----------------------------------------------------------------------------------

    def later(self, step: int, name: str, value: torch.Tensor) -> None:
        """Record a number that is still on its way from a device: copied without waiting, written when it has arrived."""
        copy = value.detach().to("cpu", non_blocking=True)
        arrived = torch.cuda.Event() if value.is_cuda else None
        if arrived is not None:
            arrived.record()
        self._on_the_way.append((step, name, copy, arrived))

    def write_arrived(self, wait: bool = False) -> None:
        while self._on_the_way:
            step, name, copy, arrived = self._on_the_way[0]
            if arrived is not None and not arrived.query():
                if not wait:
                    return
                arrived.synchronize()
            self._on_the_way.popleft()
            self.writer.frame("pulse", step, (name,), [float(copy)])

    # -- when facts are written ---------------------------------------------------------------------------------

    def phase_began(self, step: int) -> None:
        """A loss is trained on that was not before."""
        self._phases += 1
        if step and self._phases <= MOST_PHASES:
            self._due_at = sorted([*self._due_at, *(step + after for after in LATER_REPORTS)])

    def report_soon(self) -> None:
        """Write all facts when this step closes: the run may not live much longer."""
        self._reported = -math.inf

    @property
    def at_once(self) -> bool:
        return self._reported == -math.inf

    def report_due(self, step: int) -> bool:
        pause = max(REPORT_SECONDS, self._report_took / REPORT_SHARE)
        return time.monotonic() - self._reported > pause or self._passed(step)

    def _passed(self, step: int) -> bool:
        """One of those steps has come; steps that are slept through come later."""
        passed = False
        while self._due_at and step >= self._due_at[0]:
            del self._due_at[0]
            passed = True
        return passed

    def reported(self, took: float) -> None:
        self._reported = time.monotonic()
        self._report_took = took

    def paused(self, seconds: float) -> None:
        """The session was switched off for so long (a benchmark does that)."""
        self._reported += seconds
