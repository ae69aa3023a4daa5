"""`sickbay bisect`: the commit that made a script sick."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sickbay.cli.exams import SCRIPT, command_argument, opened, page
from sickbay.cli.options import runs_option
from sickbay.errors import UsageError

if TYPE_CHECKING:
    from sickbay.report.terminal import Page
    from sickbay.supervise.bisecting import Bisection, Found, Judged, Question

MOST_LINES = 80
"""Of a diff that are shown."""
MOST_NAMES = 5


@click.command(context_settings=SCRIPT)
@click.option("--good", required=True, metavar="REV", help="A revision where the script was still well.")
@click.option("--bad", default="HEAD", show_default=True, metavar="REV", help="A later one where it is not.")
@click.option("--cause", metavar="CAUSE-OR-CODE", help="Look for the commit that brought this cause in  [default: whatever makes the script sick]")
@click.option("--worse-than", type=float, metavar="LOSS", help="Look for the commit that brought the final training loss above this.")
@click.option("--steps", type=click.IntRange(min=1), metavar="N", help="Steps of each run  [default: the whole script]")
@runs_option
@command_argument
def bisect(
    command: tuple[str, ...], good: str, bad: str, cause: str | None, worse_than: float | None, steps: int | None, runs_dir: Path | None
) -> None:
    """Find the commit that made the script sick.

    \b
    sickbay bisect --good v1.2 train.py --epochs 3

    Revisions between the good and the bad one are run, each time the one that halves what is left, in a copy of the repository in a scratch folder.
    Your checkout, index and stash are not touched, and nothing that the script writes is left behind. A revision that does not run is skipped.
    """
    from sickbay.causes import find
    from sickbay.supervise.bisecting import Bisection, Question
    from sickbay.supervise.history import History

    if cause is not None and worse_than is not None:
        raise UsageError("--cause and --worse-than are two questions: ask one of them")
    question = Question(find(cause).name if cause is not None else None, worse_than)
    history = History(Path.cwd())
    bisection = Bisection(history, *opened(command, runs_dir, "bisect"), question, steps)
    found = bisection.open(good, bad)
    _tell_plan(found, question, steps, history.is_changed_here())
    try:
        bisection.search(found, lambda judged, known: _tell(judged, known, bisection))
    except KeyboardInterrupt:
        _tell_stopped(found, bisection)
        sys.exit(130)
    _conclude(found, bisection, page())


def _tell_plan(found: Found, question: Question, steps: int | None, changed: bool) -> None:
    from sickbay.report.words import count

    asked = f"where {question.cause} came in" if question.cause else "where the script became sick"
    if question.worse_than is not None:
        asked = f"where the final loss went above {question.worse_than:g}"
    length = f"{steps:,} steps each" if steps is not None else "the whole script each"
    click.echo(
        f"sickbay: {count(len(found.suspects), 'commit')}: 2 runs to check both ends, then about {found.runs_left}, to find {asked} ({length})",
        err=True,
    )
    if changed:
        click.echo("sickbay: what you have changed and not committed is no part of it", err=True)


def _tell(judged: Judged, found: Found, bisection: Bisection) -> None:
    from sickbay.report.words import clean, count, duration

    commit = bisection.history.tell(judged.sha)
    ends = 2 - min(2, len(found.judged))
    left = found.runs_left + ends
    rest = f"; {count(left, 'run')} left, about {duration(left * judged.seconds)}" if left else ""
    click.echo(clean(f"sickbay: {judged.word:7} {commit.short} {commit.title[:60]} ({judged.text}{rest})"), err=True)


def _tell_stopped(found: Found, bisection: Bisection) -> None:
    from sickbay.report.words import count

    good, bad = (bisection.history.tell(sha).short for sha in (found.good[-1], found.bad))
    known = f"the first bad commit is one of {count(len(found.suspects), 'commit')}, go on with --good {good} --bad {bad}"
    click.echo(f"sickbay: stopped; {known if len(found.judged) > 1 else 'nothing is known yet'}", err=True)


def _conclude(found: Found, bisection: Bisection, out: Page) -> None:
    from sickbay.cli.output import console
    from sickbay.conclude import diagnose
    from sickbay.report import terminal, view
    from sickbay.report.words import clean

    commit = bisection.history.tell(found.bad)
    out.line()
    if not found.certain:
        out.prose("the commits before it could not be run, so that it is one of these:", label="FIRST BAD?", indent=12, mark="bold yellow")
        for sha in reversed(found.suspects):
            other = bisection.history.tell(sha)
            out.line(clean(f"{other.short} {other.title}"), indent=2)
        out.line()
    out.prose(clean(commit.title), label="FIRST BAD" if found.certain else "BAD", indent=11, mark="bold red")
    out.prose(f"{commit.short}, {clean(commit.author)}, {commit.date}", indent=11, style="dim")
    for line in commit.message.splitlines()[1:]:
        out.line(clean(line), indent=11)
    judged = found.judged[found.bad]
    _show_diff(bisection, judged, out)
    if judged.record is not None:
        out.line()
        terminal.render_findings(view.build(diagnose(judged.record), judged.record), console())
        out.line()
        out.prose(f"The record of every revision that was run is in {bisection.folder}.", style="dim")


def _show_diff(bisection: Bisection, judged: Judged, out: Page) -> None:
    from sickbay.report.words import clean
    from sickbay.supervise.history import what_matters

    changed = bisection.history.changed(judged.sha)
    shown = what_matters(changed, judged.ran)
    lines = bisection.history.diff(judged.sha, shown).splitlines()
    out.line()
    for line in lines[:MOST_LINES]:
        style = {"+": "green", "-": "red", "@": "dim", "d": "dim", "i": "dim"}.get(line[:1], "")
        out.line((clean(line), style), indent=2)
    if len(lines) > MOST_LINES:
        out.prose(f"{len(lines) - MOST_LINES} more lines: git show {judged.sha[:12]}", indent=2, style="dim")
    others = [f for f in changed if f not in shown]
    if others:
        more = f" and {len(others) - MOST_NAMES} more" if len(others) > MOST_NAMES else ""
        out.prose(clean(f"It also changes what the script did not load: {', '.join(others[:MOST_NAMES])}{more}."), indent=2, style="dim")
