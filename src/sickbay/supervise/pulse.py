"""What the live line says: the newest step and loss from the growing record, and what a diagnosis would say by now."""

from __future__ import annotations

import json
import math
import os
import sqlite3
import struct
import threading
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from sickbay.record.schema import SUFFIX

NEWEST_CHUNKS = """SELECT l.names, c.last, c.data FROM chunks c JOIN layouts l ON l.id = c.layout
    WHERE l.family = 'pulse' ORDER BY c.id DESC LIMIT 8"""

FIRST_STEPS = 20
"""Before this many steps nobody could say much."""


@dataclass(frozen=True, slots=True)
class Pulse:
    step: int = 0
    loss: float | None = None


def read_pulse(folder: Path) -> Pulse | None:
    """The furthest step of any process of the run; None before the first. A few pages of SQLite, no numpy: about a millisecond."""
    found = [p for path in folder.glob("*" + SUFFIX) if (p := _pulse(path)) is not None]
    return max(found, key=lambda p: (p.step, p.loss is not None), default=None)


def _pulse(path: Path) -> Pulse | None:
    with suppress(sqlite3.Error, ValueError, TypeError, struct.error), closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
        row = db.execute("SELECT value FROM facts WHERE name = 'run'").fetchone()
        steps = int(json.loads(row[0]).get("steps", 0)) if row else 0
        losses = [(last, _last_value(json.loads(names), data)) for names, last, data in db.execute(NEWEST_CHUNKS) if '"loss/train"' in names]
        if steps or losses:
            last, loss = max(losses, key=lambda pair: pair[0], default=(0, None))
            return Pulse(max(steps, last), loss)
    return None


def _last_value(names: list[str], data: bytes) -> float:
    return float(struct.unpack_from("<f", data, len(data) - 4 * (len(names) - names.index("loss/train")))[0])


class Checkup:
    """Diagnoses the growing record now and then, spending at most a hundredth of the time on it."""

    def __init__(self, folder: Path, pause: float = 5.0) -> None:
        self.folder = folder
        self.pause = pause
        self.words = ""
        self._next = time.monotonic() + pause

    def text(self, pulse: Pulse | None) -> str:
        """What the last diagnosis said; a new one is made first when it is due."""
        if pulse is not None and pulse.step >= FIRST_STEPS and time.monotonic() >= self._next:
            self._next = time.monotonic() + self.pause
            with suppress(Exception):  # the live line is a courtesy; what is wrong is told by the diagnosis at the end
                self._look()
        return self.words

    def _look(self) -> None:
        _yield_to_training()
        from sickbay.conclude import diagnose
        from sickbay.runs import open_run

        begun = time.monotonic()
        diagnosis = diagnose(open_run(self.folder))
        now = time.monotonic()
        self._next = now + max(self.pause, 100 * (now - begun))
        told = {"healthy": "healthy so far", "undecided": "undecided so far"}
        self.words = f"sick: {diagnosis.causes[0].cause}" if diagnosis.verdict == "sick" else told.get(diagnosis.verdict, "")


def _yield_to_training() -> None:
    """Only this thread, and only where the system can: let the training process go first."""
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


def describe(pulse: Pulse | None, health: str) -> str:
    """`sickbay · step 1,240 · loss 0.312 · healthy so far`"""
    if pulse is None:
        return "sickbay · no training step yet"
    parts = ["sickbay", f"step {pulse.step:,}"]
    if pulse.loss is not None:
        parts.append(f"loss {pulse.loss:.4g}")
        if not math.isfinite(pulse.loss):
            health = health if health.startswith("sick") else "the loss is not finite"
    return " · ".join([*parts, health] if health else parts)
