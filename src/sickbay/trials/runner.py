"""Independent jobs: commands with a folder for what they leave, a time limit, and an ending that is always told.

`Runner` is all that trials, seeds and sweeps know of where their jobs run; `LocalRunner` starts processes on this machine.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

OUTPUT_FILE = "output.txt"
GRACE = 3.0
"""Seconds between asking a process to end (SIGTERM) and ending it."""
TICK = 0.05
PR_SET_PDEATHSIG = 1
"""Linux: the signal that a process gets when its parent dies (prctl(2))."""


@dataclass(frozen=True, slots=True)
class Job:
    name: str
    command: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str]
    folder: Path
    """Exists. What the command prints goes to `output.txt` in it."""
    seconds: float | None = None
    """It may run so long."""


@dataclass(frozen=True, slots=True)
class Done:
    """How a job ended. Every job that was taken up has exactly one."""

    job: Job
    returncode: int | None
    """As `subprocess` has it; None if it could not be started."""
    seconds: float
    trouble: str = ""
    """"ended at its time limit", "could not be started: ...", or nothing."""


class Runner(Protocol):
    at_once: int
    """How many jobs it runs at a time."""

    def run(self, jobs: Iterable[Job], tick: Callable[[], None]) -> Iterator[Done]:
        """Run all jobs and give each back when it has ended, in whatever order; `tick` is called now and then."""
        ...


class LocalRunner:
    """Processes of this machine, `at_once` of them at a time. Each leads a group of its own: Ctrl-C reaches only us, and we end them.

    With `die_with_us` the system ends them also if we are killed and can do nothing any more (Linux).
    """

    def __init__(self, at_once: int = 1, *, die_with_us: bool = False) -> None:
        self.at_once = max(1, at_once)
        self.before_start = _killed_with_parent() if die_with_us else None

    def run(self, jobs: Iterable[Job], tick: Callable[[], None] = lambda: None) -> Iterator[Done]:
        waiting, running = iter(jobs), list[_Process]()
        more = True
        try:
            while more or running:
                while more and len(running) < self.at_once:
                    job = next(waiting, None)
                    if job is None:
                        more = False
                        break
                    started = _Process(job, self.before_start)
                    if started.failed:
                        yield Done(job, None, 0.0, started.failed)
                    else:
                        running.append(started)
                ended = [p for p in running if p.over()]
                for process in ended:
                    running.remove(process)
                    yield process.done()
                if not ended and running:
                    tick()
                    time.sleep(TICK)
        finally:
            for process in running:
                process.end()


def _killed_with_parent() -> Callable[[], None] | None:
    """To be called in a child before its program begins; None where there is no such thing."""
    try:
        prctl = ctypes.CDLL(None).prctl
    except (AttributeError, OSError):
        return None
    return lambda: prctl(PR_SET_PDEATHSIG, signal.SIGKILL) and None


class _Process:
    def __init__(self, job: Job, before_start: Callable[[], None] | None) -> None:
        self.job = job
        self.started = time.monotonic()
        self.trouble = self.failed = ""
        try:
            with (job.folder / OUTPUT_FILE).open("wb") as output:
                self.process = subprocess.Popen(
                    job.command,
                    cwd=job.cwd,
                    env=job.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=before_start,
                )
        except OSError as e:
            self.failed = f"could not be started: {e.strerror or e}"

    def over(self) -> bool:
        if self.process.poll() is not None:
            return True
        if self.job.seconds is not None and time.monotonic() - self.started > self.job.seconds:
            self.trouble = "ended at its time limit"
            self.end()
            return True
        return False

    def done(self) -> Done:
        self._signal(signal.SIGKILL)  # whatever it left running
        return Done(self.job, self.process.wait(), time.monotonic() - self.started, self.trouble)

    def end(self) -> None:
        """SIGTERM first: the script's own handlers run."""
        self._signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE)
        self._signal(signal.SIGKILL)
        self.process.wait()

    def _signal(self, number: int) -> None:
        with suppress(OSError):
            os.killpg(self.process.pid, number)
