"""A progress bar on stderr for logs that take more than a moment to read, where somebody is there to see it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 2.0
"""Seconds before it appears."""


class Bar:
    """Appears when reading has taken long enough; one line for each file."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.progress: Progress | None = None
        self.tasks: dict[Path, TaskID] = {}

    def __call__(self, path: Path, done: int, size: int) -> None:
        if self.progress is None:
            if time.monotonic() - self.started < PATIENCE:
                return
            self.progress = _progress()
            self.progress.start()
        if path not in self.tasks:
            self.tasks[path] = self.progress.add_task(path.name, total=size)
        self.progress.update(self.tasks[path], completed=done)

    def close(self) -> None:
        if self.progress is not None:
            self.progress.stop()


def _progress() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("reading {task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


@contextmanager
def shown() -> Iterator[None]:
    """Shows how reading goes, if stderr is a terminal; it is gone when reading is done."""
    from sickbay.record.foreign.progress import listening

    if not sys.stderr.isatty():
        yield
        return
    bar = Bar()
    try:
        with listening(bar):
            yield
    finally:
        bar.close()
