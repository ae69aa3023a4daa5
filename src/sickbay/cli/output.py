"""What every command that diagnoses does with the result: the documents it writes, the report it shows."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sickbay.errors import SickbayError, UsageError
from sickbay.runs import DIAGNOSIS_FILE, REPORT_FILE, summarise, why_unseen, write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from sickbay.nouns import Diagnosis
    from sickbay.record.reader import Record


def conclude(record: Record, place: Path) -> Diagnosis:
    """The diagnosis of a run that was opened from `place` (its folder, or one record file)."""
    folder = place if place.is_dir() else place.parent
    summary = summarise(record, folder.resolve())
    if place.is_dir() and (unseen := why_unseen(folder)):
        from sickbay.nouns import Diagnosis

        return Diagnosis(verdict="untrained", reason=unseen, causes=(), signs=(), not_checked=(), run=summary)
    from sickbay.conclude import diagnose
    from sickbay.trials.storage import load_trials

    return diagnose(record, summary, load_trials(folder))


def console() -> Console:
    from rich.console import Console

    return Console(file=sys.stdout, highlight=False, soft_wrap=False)


def document(diagnosis: Diagnosis, record: Record) -> str:
    from sickbay.report.document import build, dumps

    return dumps(build(diagnosis, record.facts.run.cwd or None, record.facts.incident, record.facts.ranks))


def write_json(diagnosis: Diagnosis, record: Record, file: str) -> None:
    """Write the document to a file, or to standard output for `-`."""
    write_text(document(diagnosis, record), file)


def write_text(text: str, file: str) -> None:
    """To a file, or to standard output for `-`."""
    if file == "-":
        click.echo(text, nl=False)
    else:
        write(Path(file), text)


def write_html(diagnosis: Diagnosis, record: Record, file: Path) -> None:
    from sickbay.report import html, view

    write(file, html.render(view.build(diagnosis, record)))


def write(file: Path, text: str) -> None:
    try:
        write_atomically(file, text)
    except OSError as e:
        raise UsageError(f"cannot write {file}: {e.strerror or e}") from None


def show(diagnosis: Diagnosis, record: Record) -> None:
    """The report in the terminal; a run that never trained gets one sentence instead."""
    if diagnosis.verdict == "untrained":
        click.echo(f"sickbay: {diagnosis.reason.rstrip('.')}.")
        return
    from sickbay.report import terminal, view

    terminal.render(view.build(diagnosis, record), console())


def deliver(diagnosis: Diagnosis, record: Record, folder: Path, *, json_file: str | None, html: bool, quiet: bool) -> None:
    """Everything that `sickbay run` leaves at its end. One part that fails does not take the others with it."""
    parts: list[tuple[str, Callable[[], Any]]] = [
        ("the document could not be written", lambda: write(folder / DIAGNOSIS_FILE, document(diagnosis, record)))
    ]
    if json_file:
        parts.append(("the document could not be written", lambda: write_json(diagnosis, record, json_file)))
    if html and diagnosis.verdict != "untrained":
        parts.append(("the HTML report could not be written", lambda: write_html(diagnosis, record, folder / REPORT_FILE)))
    if not quiet and json_file != "-":
        if diagnosis.verdict != "untrained":
            parts.append(("the report could not be shown", click.echo))  # an empty line: the script may have left the cursor anywhere
        parts.append(("the report could not be shown", lambda: show(diagnosis, record)))
    for failure, part in parts:
        with contained(failure, folder):
            part()


@contextmanager
def contained(failure: str, folder: Path) -> Iterator[None]:
    """Our own bug must not hide how the user's script ended: one clear line, and on."""
    try:
        yield
    except BrokenPipeError:
        # Nobody reads any more (`| head`): say no more, also not when Python flushes at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        click.echo(f"sickbay: stopped; `sickbay diagnose {folder.name}` does it later", err=True)
    except SickbayError as e:
        click.echo(f"sickbay: {failure}: {e}", err=True)
    except Exception as e:
        if os.environ.get("SICKBAY_DEBUG"):
            traceback.print_exc()
        where = traceback.extract_tb(e.__traceback__)[-1]
        at = f"{Path(where.filename).name}:{where.lineno}"
        click.echo(f"sickbay: {failure}: {type(e).__name__} at {at}: {e} (a bug of sickbay's; the record is kept in {folder})", err=True)
