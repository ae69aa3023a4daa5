"""`sickbay replay`: run the script of a record again up to its incident, and say whether it came again."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from sickbay.cli.options import runs_option
from sickbay.cli.read import run_argument
from sickbay.errors import UsageError


@click.command()
@run_argument
@runs_option
def replay(run: str, runs_dir: Path | None) -> None:
    """Run a script again up to its first NaN or infinity.

    The same command is started in the same folder, with every operation followed around the step of the incident, and is stopped
    right after that step. The script does again what it does: it may write checkpoints and logs. What came of it is kept in the
    folder `replay` of the run.

    \b
    Exit codes:
      0  RECURRED            at the same step
      1  DID NOT RECUR       the script does not repeat itself
      2  could not be replayed, or ended before that step
      3  RECURRED ELSEWHERE  at another step or line

    RUN is a run's name or its beginning, a folder, or `last` (the default).
    """
    from sickbay.cli.output import console
    from sickbay.cli.run import start
    from sickbay.report.replay_page import render
    from sickbay.runs import find_run, new_run, open_run, runs_root
    from sickbay.settings import Settings
    from sickbay.supervise import replay as replays
    from sickbay.supervise.command import Command

    place = find_run(run, runs_root(runs_dir))
    folder = place if place.is_dir() else place.parent
    recorded = open_run(place)
    before = replays.what_happened(folder, recorded)
    if before is None:
        raise UsageError(f"there is nothing to replay in {folder.name}: no loss, gradient or weight was seen to be NaN or infinite")
    info = replays.command_of(folder)
    incident = replays.incident_of(folder)
    click.echo(
        f"sickbay: running `{shlex.join(info.command)}` again up to step {before.step:,}; what it writes (checkpoints, logs) it writes again",
        err=True,
    )
    again = new_run(folder, "replay", "replay")
    settings = Settings(blackbox=incident.budget) if incident is not None and incident.budget else Settings()
    start(Command(info.command, "replay"), again, settings, live=True, cwd=info.cwd, variables=replays.variables_for(before.step, incident))
    found = replays.compare(before, recorded, again)
    click.echo()
    render(found, info.cwd, again, console())
    sys.exit(replays.EXIT_CODES[found.outcome])
