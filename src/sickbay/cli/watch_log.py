"""`sickbay watch-log`: follow a growing log, and speak when something turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from sickbay.nouns import Diagnosis

SHARE = 0.1
"""Reading a long log again takes time: at most this part of one processor's is spent on it."""


@click.command("watch-log")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--map", "pairs", multiple=True, metavar="NAME=COLUMN", help="Take this column for NAME, as in `sickbay read`.")
@click.option("--every", type=click.FloatRange(min=0.1), default=5.0, show_default=True, metavar="SECONDS", help="How often to look.")
def watch_log(path: Path, pairs: tuple[str, ...], every: float) -> None:
    """Follow a log that is still being written.

    Says when training turns: diverges, overfits, stops learning, recovers.

    Ends with Ctrl-C. `sickbay read` tells the whole story afterwards.
    """
    click.echo(f"sickbay: watching {path}; Ctrl-C ends it", err=True)
    try:
        for diagnosis in turns(path, pairs, every):
            click.echo(line(diagnosis))
    except KeyboardInterrupt:
        click.echo("sickbay: stopped", err=True)


def line(diagnosis: Diagnosis) -> str:
    """One line: when, how it is, why."""
    return f"{time.strftime('%H:%M:%S')}  {diagnosis.run.steps:,} steps  {diagnosis.verdict}: {diagnosis.reason}"


def turns(path: Path, pairs: tuple[str, ...], every: float, wait: Callable[[float], None] = time.sleep) -> Iterator[Diagnosis]:
    """A diagnosis whenever the verdict or the shape of the curves is another than before. A log that is not there yet is waited for."""
    import sickbay.conclude  # now, so that loading it does not count as time spent on the log
    import sickbay.record.foreign  # noqa: F401
    from sickbay.cli.logs import examine
    from sickbay.errors import LogError

    known: tuple[object, ...] = ()
    seen: object = None
    while True:
        spent = 0.0
        if (now := _state(path)) != seen and now is not None:
            seen, started = now, time.process_time()
            try:
                diagnosis, _ = examine([path], pairs)[0]
            except LogError:
                diagnosis = None  # nothing in it yet, or its last line is half-written
            spent = time.process_time() - started
            if diagnosis is not None and (diagnosis.verdict, diagnosis.shapes[:1]) != known:
                known = diagnosis.verdict, diagnosis.shapes[:1]
                yield diagnosis
        wait(max(every, spent / SHARE))


def _state(path: Path) -> tuple[float, int] | None:
    """What changes when the log grows; of a folder, the newest file in it."""
    try:
        files = [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
        return max(((p.stat().st_mtime, p.stat().st_size) for p in files), default=None)
    except OSError:
        return None
