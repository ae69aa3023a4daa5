"""Jobs on a Ray cluster. `sickbay[ray]` brings Ray; without `--on ray` nothing here is imported.

A task on the cluster runs one job as a process of its own, as `LocalRunner` does, and sends home what the job left in its folder where the two
machines share no file system. A worker that dies or hangs is given the job once more; after that its end is told like any other. The project itself
must be found under the same path on every machine.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from sickbay.errors import UsageError
from sickbay.trials.runner import GRACE, TICK, Done, Job, LocalRunner

HOME_MARK = ".sent-from"
"""A file in a job's folder: where it is seen, results need not be sent."""
HANGS = 30.0
"""Seconds beyond a job's time limit after which its worker, which would have ended it, counts as hung."""
ATTEMPTS = 2
COLOUR = re.compile(r"\x1b\[[\d;]*m")
"""Ray writes its messages for terminals."""
INSTALL = "Ray is not installed: install it with `pip install 'sickbay[ray]'`, or leave --on out"


@dataclass(frozen=True, slots=True)
class Returned:
    """What a worker sends home."""

    returncode: int | None
    seconds: float
    trouble: str
    files: dict[str, bytes]
    """What the job left in its folder, where that is not the folder at home."""


@dataclass(slots=True)
class _Running:
    job: Job
    task: Any
    """Ray's reference to the result."""
    attempt: int
    began: float


class RayRunner:
    """`address` as Ray has it ("ray://head:10001"); None for the cluster that this machine belongs to, or a new one on it alone."""

    def __init__(self, address: str | None = None, at_once: int | None = None) -> None:
        self.ray = _ray()
        home = str(Path(__file__).resolve().parents[2])
        found = [home, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        try:
            self.ray.init(
                address=address,
                ignore_reinit_error=True,
                log_to_driver=False,
                include_dashboard=False if address is None and "RAY_ADDRESS" not in os.environ else None,
                logging_level="ERROR",
                runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(dict.fromkeys(found))}},
            )
        except Exception as e:  # Ray has many: no such host, another version, no room for its store
            raise UsageError(f"no Ray cluster could be reached{f' at {address}' if address else ''}: {_first_line(e)}") from None
        room = self.ray.cluster_resources()
        self.at_once = at_once or max(1, int(room.get("GPU", 0) or room.get("CPU", 1)))
        self._task = self.ray.remote(carry_out).options(num_cpus=1, num_gpus=1 if room.get("GPU") else 0, max_retries=0)

    def run(self, jobs: Iterable[Job], tick: Callable[[], None] = lambda: None) -> Iterator[Done]:
        waiting, running = iter(jobs), list[_Running]()
        try:
            while True:
                running += [self._started(job, 1) for job in islice(waiting, self.at_once - len(running))]
                if not running:
                    return
                for one in list(running):
                    ended = self._look(one)
                    if ended is None:
                        continue
                    running.remove(one)
                    if isinstance(ended, Done):
                        yield ended
                    else:
                        running.append(ended)
                tick()
                time.sleep(TICK)
        finally:
            for one in running:
                self._cancel(one)

    def _started(self, job: Job, attempt: int) -> _Running:
        (job.folder / HOME_MARK).write_text("", encoding="utf-8")
        return _Running(job, self._task.remote(job), attempt, time.monotonic())

    def _look(self, one: _Running) -> Done | _Running | None:
        """How it ended; another attempt; None while it runs."""
        ready, _ = self.ray.wait([one.task], timeout=0)
        if ready:
            try:
                returned = self.ray.get(one.task)
            except Exception as e:
                return self._again(one, f"its worker died ({_first_line(e)})")
            return _kept(one.job, returned)
        limit = one.job.seconds
        if limit is not None and time.monotonic() - one.began > limit + GRACE + HANGS:
            self._cancel(one)
            return self._again(one, "its worker hung")
        return None

    def _again(self, one: _Running, why: str) -> Done | _Running:
        if one.attempt < ATTEMPTS:
            _emptied(one.job.folder)
            return self._started(one.job, one.attempt + 1)
        (one.job.folder / HOME_MARK).unlink(missing_ok=True)
        return Done(one.job, None, time.monotonic() - one.began, f"{why}, and so did the one after it")

    def _cancel(self, one: _Running) -> None:
        with suppress(Exception):
            self.ray.cancel(one.task, force=True)


def carry_out(job: Job) -> Returned:
    """On a worker: the job, in a process that dies with it."""
    if not Path(job.cwd).is_dir():
        return Returned(None, 0.0, f"could not be started: the machine of its worker has no folder {job.cwd}; the project must be there too", {})
    at_home = (job.folder / HOME_MARK).exists()
    job.folder.mkdir(parents=True, exist_ok=True)
    temporary = job.environment.get("TMPDIR")
    made = Path(temporary) if temporary and not Path(temporary).exists() else None
    if made is not None:
        made.mkdir(parents=True)
    try:
        (done,) = LocalRunner(die_with_us=True).run([replace(job, environment=_environment(job))])
        files = {} if at_home else {str(p.relative_to(job.folder)): p.read_bytes() for p in job.folder.rglob("*") if p.is_file()}
    finally:
        if made is not None:
            shutil.rmtree(made.parent, ignore_errors=True)
        if not at_home:
            shutil.rmtree(job.folder, ignore_errors=True)
    return Returned(done.returncode, done.seconds, done.trouble, files)


def _environment(job: Job) -> dict[str, str]:
    """The job's own; which devices it may use is the worker's matter."""
    devices = {k: v for k, v in os.environ.items() if k.endswith("_VISIBLE_DEVICES")}
    return {**job.environment, **devices}


def _kept(job: Job, returned: Returned) -> Done:
    (job.folder / HOME_MARK).unlink(missing_ok=True)
    for name, content in returned.files.items():
        (job.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (job.folder / name).write_bytes(content)
    return Done(job, returned.returncode, returned.seconds, returned.trouble)


def _emptied(folder: Path) -> None:
    """What a dead worker's job left: half a record."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in COLOUR.sub("", str(error)).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:160]}" if lines else type(error).__name__


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise UsageError(INSTALL) from None
    return ray
