"""`sickbay try`: the cures of a run's suspicions, tried one by one on the unmodified script."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sickbay.cli.options import budget_option, exit_code_option, jobs_option, json_option, on_option, runner_for, runs_option
from sickbay.cli.read import run_argument
from sickbay.errors import UsageError

if TYPE_CHECKING:
    from sickbay.supervise.planning import Plan
    from sickbay.supervise.trying import Told

steps_option = click.option("--steps", type=click.IntRange(min=1), metavar="N", help="Steps of each trial  [default: all, or what the time allows]")


@click.command("try")
@run_argument
@click.option("--treat", "given", multiple=True, metavar="NAME[=VALUE],...", help="Try this instead of the suspicions' cures; may be repeated.")
@budget_option
@steps_option
@jobs_option("Trials")
@on_option
@click.option("--dry-run", is_flag=True, help="Show which trials would be run, and how long they would take.")
@runs_option
@json_option
@exit_code_option
def try_(
    run: str,
    given: tuple[str, ...],
    budget_time: float | None,
    steps: int | None,
    jobs: int | None,
    on: str | None,
    dry_run: bool,
    runs_dir: Path | None,
    json_file: str | None,
    exit_code: bool,
) -> None:
    """Try the cures of what a run is suspected of.

    The recorded command is run again for each, with that one thing changed. It leaves no traces: what it writes goes to a scratch folder, and
    trackers are off. What came of it is kept with the run, and counts in its diagnosis from then on.

    RUN is a run's name or its beginning, a folder, or `last` (the default).
    """
    from sickbay.cli import output
    from sickbay.runs import find_run, open_run, runs_root

    place = find_run(run, runs_root(runs_dir))
    folder = place if place.is_dir() else place.parent
    if not carry_out(folder, given=given, budget=budget_time, steps=steps, jobs=jobs, on=on, dry_run=dry_run):
        return
    record = open_run(place)
    diagnosis = output.conclude(record, folder)
    output.deliver(diagnosis, record, folder, json_file=json_file, html=True, quiet=False)
    if exit_code and diagnosis.verdict == "sick":
        sys.exit(1)


def carry_out(
    folder: Path, *, given: tuple[str, ...], budget: float | None, steps: int | None, jobs: int | None, on: str | None, dry_run: bool = False
) -> bool:
    """Plan the trials of a run, tell the plan, and run them unless it is a dry run. False if nothing was tried."""
    from sickbay.conclude import diagnose, suspect_all
    from sickbay.runs import open_run
    from sickbay.signs import read_signs
    from sickbay.supervise.planning import candidates, make_plan
    from sickbay.supervise.replay import command_of
    from sickbay.supervise.trying import Trying, forget, is_seeded

    record = open_run(folder)
    command_of(folder)
    if record.facts.run.treatment:
        raise UsageError(f"{folder.name} is a treated run itself ({record.facts.run.treatment}); try a run of the script as it is")
    suspected = candidates(diagnose(record), suspect_all(record, read_signs(record)))
    plan = make_plan(record, suspected, seeded=is_seeded(record), given=given, steps=steps, budget=budget)
    _tell_plan(plan, suspected[0].cause if suspected else "", jobs or 1)
    if dry_run or not plan.trials:
        return False
    line = _Line(plan)
    runner = runner_for(on, jobs)
    forget(folder)
    trying = Trying(folder, record, plan, runner, line.show)
    try:
        for trial in trying.carry_out():
            line.clear()
            click.echo(f"sickbay: {trial.label}: {trial.effect} ({trial.seconds:.0f} s)", err=True)
    except KeyboardInterrupt:
        line.clear()
        click.echo(f"sickbay: stopped; {len(trying.results)} of {len(plan.trials)} trials are kept", err=True)
    line.clear()
    return bool(trying.results)


def _tell_plan(plan: Plan, leading: str, jobs: int) -> None:
    from sickbay.report import words

    if not plan.trials:
        why = f"{leading} has no cure that could be tried without changing the code" if leading else "nothing is suspected that could be tried"
        click.echo(f"sickbay: no trials: {why}; name a treatment with --treat", err=True)
        return
    length = f"{plan.steps:,} steps each" if plan.steps is not None else "the whole script each"
    click.echo(f"sickbay: {words.count(len(plan.trials), 'trial')}, {length}, about {words.duration(plan.seconds / jobs)}:", err=True)
    if plan.baseline:
        click.echo("  as it is, once more: the script sets no seed", err=True)
    for planned in plan.trials:
        click.echo(f"  {planned.label}{f' (against {planned.cause})' if planned.cause else ''}", err=True)


class _Line:
    """One line of progress on standard error, if that is a terminal."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.shown = 0.0
        self.interactive = sys.stderr.isatty()

    def show(self, told: Told) -> None:
        from sickbay.report import words
        from sickbay.supervise.pulse import read_pulse

        if not self.interactive or time.monotonic() - self.shown < 0.5:
            return
        self.shown = time.monotonic()
        pulse = read_pulse(told.folders[0])
        step = f", step {pulse.step:,}" if pulse is not None else ""
        what = told.planned[0].label or "as it is"
        left = max(self.plan.each - (time.time() - told.began), 0) + self.plan.each * (told.of - told.number)
        text = f"sickbay: trial {told.number} of {told.of}: {what}{step}, about {words.duration(left)} left"
        click.echo(f"\r\033[2K{text[:100]}", nl=False, err=True)

    def clear(self) -> None:
        if self.interactive:
            click.echo("\r\033[2K", nl=False, err=True)
