"""The command line: one short function per sub-command, one file per group of them. Heavy things are imported when needed."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from sickbay import __version__
from sickbay.cli import (
    bisect,
    catalogue,
    checklist,
    compare,
    doctor,
    evaluate,
    exams,
    forgetting,
    incident,
    logs,
    read,
    replay,
    run,
    runs,
    scan,
    skew,
    treatments,
    trying,
    watch_log,
)
from sickbay.errors import SickbayError, UsageError


class Failure(click.ClickException):
    """An error of ours at the edge: one line, exit code 2. $SICKBAY_DEBUG=1 shows where it came from."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        click.echo(f"sickbay: {self.message}", file=file or sys.stderr)


class Main(click.Group):
    """Turns our own errors into one clear line."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except SickbayError as e:
            if os.environ.get("SICKBAY_DEBUG"):
                raise
            raise Failure(str(e)) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(len(name) for name in self.commands)
        room = formatter.width - formatter.current_indent - width - 6
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([((c.name or "").ljust(width), c.get_short_help_str(room)) for c in commands])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            if args and args[0].endswith(".py"):
                raise UsageError(f"there is no command {args[0]!r}; to run a script, write `sickbay run {' '.join(args)}`") from None
            raise


@click.group(cls=Main, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="sickbay", message="%(prog)s %(version)s")
def cli() -> None:
    """Find out why a PyTorch training run is sick, with proof, and how to cure it.

    Start with:  sickbay run train.py
    """


SECTIONS = {
    "Runs": (run.run, read.diagnose, read.report, runs.runs, compare.compare, forgetting.forgetting),
    "Other tools' logs": (logs.read, watch_log.watch_log),
    "Incidents": (incident.incident, replay.replay),
    "Experiments on a script": (trying.try_, treatments.treatments, checklist.checklist, *exams.EXAMS, bisect.bisect),
    "Data and models": (scan.scan, evaluate.evaluate, skew.skew),
    "Reference": (catalogue.causes, catalogue.explain, doctor.doctor),
}
for command in (command for section in SECTIONS.values() for command in section):
    cli.add_command(command)


def main() -> None:
    """Entry point of the `sickbay` program."""
    cli(prog_name="sickbay")


__all__ = ["cli", "main"]
