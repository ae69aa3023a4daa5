"""Runs a command several times, fenced and each time treated in its own way, and gives back what was recorded."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sickbay import __version__
from sickbay.errors import SickbayError, UsageError
from sickbay.observe.bootstrap import UNTREATED
from sickbay.runs import RunInfo, bootstrap_errors, new_run, open_run
from sickbay.supervise.jobs import make_job
from sickbay.trials.orders import Orders
from sickbay.trials.runner import OUTPUT_FILE, Done, LocalRunner, Runner

if TYPE_CHECKING:
    from sickbay.record.reader import Record
    from sickbay.supervise.command import Command


@dataclass(frozen=True, slots=True)
class Examined:
    """One of the runs."""

    name: str
    record: Record | None
    done: Done

    @property
    def trouble(self) -> str:
        """Why there is nothing to read, in words."""
        if self.done.trouble:
            return self.done.trouble
        errors = bootstrap_errors(self.done.job.folder)
        if self.done.returncode == UNTREATED and errors:
            return errors[0]
        last = _last_line(self.done.job.folder / OUTPUT_FILE)
        return f"it ended with exit code {self.done.returncode}{f': {last}' if last else ''}"


def examine(
    what: Command,
    folder: Path,
    wanted: Sequence[tuple[str, Orders]],
    *,
    runner: Runner | None = None,
    seconds: float | None = None,
    begun: Callable[[], None] = lambda: None,
    cwd: Path | None = None,
    base: Mapping[str, str] | None = None,
) -> Iterator[Examined]:
    """Each run by its name, when it has ended, here or in `cwd`, in our environment or in `base`. Nothing that the command writes is left behind
    but its records, in `folder`."""
    info = RunInfo(command=what.argv, cwd=str(cwd or Path.cwd()), python=sys.version.split()[0], sickbay=__version__, started=time.time())
    info.save(folder)
    with tempfile.TemporaryDirectory(prefix="sickbay-exam-") as scratch:
        jobs, names = [], dict[Path, str]()
        for name, orders in wanted:
            place = new_run(folder, name, name)
            names[place] = name
            jobs.append(replace(make_job(name, info, place, orders, Path(scratch, name), base), seconds=seconds))
        for done in (runner or LocalRunner()).run(jobs, begun):
            place = done.job.folder
            replace(info, ended=time.time(), seconds=round(done.seconds, 3), exit=done.returncode).save(place)
            yield Examined(names[place], _record(place), done)


def must(examined: Examined) -> Record:
    """Its record; raises UsageError with the reason if there is none."""
    if examined.record is None:
        raise UsageError(f"the script could not be examined ({examined.name}): {examined.trouble}")
    return examined.record


def _record(folder: Path) -> Record | None:
    try:
        record = open_run(folder)
    except SickbayError:
        return None
    return record if record.facts.run.steps or record.facts.run.backwards else None


def _last_line(file: Path) -> str:
    try:
        lines = [x for x in file.read_text(encoding="utf-8", errors="replace").splitlines() if x.strip()]
    except OSError:
        return ""
    return lines[-1].strip()[:200] if lines else ""
