"""What `pytest --sickbay` and its fixtures do: one test, or one script, watched and judged."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sickbay.conclude import diagnose
from sickbay.errors import SickbayError
from sickbay.nouns import Diagnosis, Suspicion

if TYPE_CHECKING:
    from sickbay.observe.watching import Patient
    from sickbay.record.reader import Record

WIDTH = 96


class WatchedTest:
    """A test between its set-up and its end."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="sickbay-test-")
        self._patient: Patient | None = None
        self._record: Record | None = None

    def begin(self) -> None:
        from sickbay.observe import starting
        from sickbay.observe.watching import watch

        if starting.current is None:  # else `sickbay run pytest` watches all of it already
            self._patient = watch(folder=self._folder.name).__enter__()

    def end(self, error: BaseException | None = None) -> None:
        """Takes every hook out and reads what was recorded. May be called again."""
        patient, self._patient = self._patient, None
        try:
            if patient is not None:
                patient.__exit__(type(error) if error is not None else None, error, error.__traceback__ if error is not None else None)
                self._record = patient.record
        finally:
            self._folder.cleanup()

    def told(self, allowed: Collection[str], levels: Collection[str]) -> str:
        """The diagnosis, if the test trains and is sick of something that counts."""
        if self._record is None or not self._record.facts.run.steps:
            return ""
        diagnosis = diagnose(self._record)
        return report(diagnosis, self._record) if any(_counts(s, allowed, levels) for s in diagnosis.causes) else ""


def healthy(command: Sequence[str], folder: Path, steps: int | None, allowed: Collection[str], seconds: float | None) -> tuple[Diagnosis | None, str]:
    """The diagnosis of a script, and why it is not healthy; empty if it is."""
    from sickbay.supervise.command import resolve
    from sickbay.supervise.examining import examine
    from sickbay.trials.orders import Orders

    try:
        (seen,) = examine(resolve(command), folder, [("run", Orders(steps=steps))], seconds=seconds)
    except SickbayError as e:
        return None, str(e)
    if seen.record is None:
        return None, f"{command[0]} did not train: {seen.trouble}"
    diagnosis = diagnose(seen.record)
    sick = any(_counts(s, allowed, ("all",)) for s in diagnosis.causes)
    if sick:
        return diagnosis, report(diagnosis, seen.record)
    broke = seen.done.returncode != 0 or bool(seen.done.trouble)
    return diagnosis, f"{command[0]} broke down: {seen.trouble}" if broke else ""


def report(diagnosis: Diagnosis, record: Record) -> str:
    """What was found, as the terminal has it."""
    from rich.console import Console

    from sickbay.report import terminal, view

    text = io.StringIO()
    terminal.render_findings(view.build(diagnosis, record), Console(file=text, width=WIDTH, highlight=False, soft_wrap=False))
    return text.getvalue().strip("\n")


def _counts(s: Suspicion, allowed: Collection[str], levels: Collection[str]) -> bool:
    """NaN is a mistake at every level."""
    at_level = "all" in levels or s.level in levels or s.cause.startswith("nonfinite")
    return s.certainty != "possible" and s.cause not in allowed and at_level
