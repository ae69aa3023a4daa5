"""`sickbay diagnose` and `sickbay report`: from a record, again; needs no torch."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sickbay.cli.options import exit_code_option, json_option, runs_option

run_argument = click.argument("run", default="last", metavar="[RUN]")


@click.command()
@run_argument
@runs_option
@json_option
@exit_code_option
def diagnose(run: str, runs_dir: Path | None, json_file: str | None, exit_code: bool) -> None:
    """Diagnose a recorded run again.

    RUN is a run's name or its beginning, a folder, a record file, or `last` (the default).
    """
    from sickbay.cli import output
    from sickbay.runs import DIAGNOSIS_FILE, find_run, open_run, runs_root

    place = find_run(run, runs_root(runs_dir))
    record = open_run(place)
    diagnosis = output.conclude(record, place)
    if place.is_dir():
        with output.contained("the document could not be written", place):
            output.write(place / DIAGNOSIS_FILE, output.document(diagnosis, record))
    if json_file:
        output.write_json(diagnosis, record, json_file)
    if json_file != "-":
        output.show(diagnosis, record)
    if exit_code and diagnosis.verdict == "sick":
        sys.exit(1)


@click.command()
@run_argument
@click.option(
    "-o", "--output", "file", type=click.Path(dir_okay=False, path_type=Path), default="report.html", show_default=True, help="Where to write it."
)
@runs_option
def report(run: str, runs_dir: Path | None, file: Path) -> None:
    """Write the HTML report of a recorded run.

    One file that opens without a network.
    """
    from sickbay.cli import output
    from sickbay.errors import UsageError
    from sickbay.runs import find_run, open_run, runs_root

    place = find_run(run, runs_root(runs_dir))
    record = open_run(place)
    diagnosis = output.conclude(record, place)
    if diagnosis.verdict == "untrained":
        raise UsageError(f"there is nothing to report: {diagnosis.reason}")
    output.write_html(diagnosis, record, file)
    click.echo(f"wrote {file}")
