"""Examinations of unmodified scripts: `sickbay overfit`, `lr`, `seeds`, `deterministic`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sickbay.cli.options import jobs_option, on_option, runner_for, runs_option

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sickbay.record.reader import Record
    from sickbay.report.terminal import Page
    from sickbay.supervise.command import Command

SCRIPT = {"ignore_unknown_options": True, "allow_interspersed_args": False}
command_argument = click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="COMMAND...")
REGULARISERS_OFF = "no-dropout,no-weight-decay,no-label-smoothing,hold-schedule"


def opened(command: tuple[str, ...], runs_dir: Path | None, exam: str) -> tuple[Command, Path]:
    """What is examined, and the folder for what comes of it."""
    from sickbay.runs import new_run, runs_root
    from sickbay.supervise.command import resolve

    what = resolve(command)
    return what, new_run(runs_root(runs_dir), f"{what.stem}-{exam}")


def page() -> Page:
    from sickbay.cli.output import console
    from sickbay.report.terminal import Page

    return Page(console())


def losses(record: Record) -> NDArray[np.float64]:
    return record.series("loss/train").values


@click.command(context_settings=SCRIPT)
@click.option("--steps", type=click.IntRange(min=20), default=300, show_default=True, metavar="N", help="Steps at most.")
@click.option("--rows", type=click.IntRange(min=1), metavar="N", help="Samples of the batch to use  [default: all of the first batch]")
@runs_option
@command_argument
def overfit(command: tuple[str, ...], steps: int, rows: int | None, runs_dir: Path | None) -> None:
    """Can the script's model learn one batch by heart?

    The script is run on its first batch over and over, with dropout, weight decay, label smoothing and learning-rate decay off. A loss near zero is
    expected; if it is not reached, the diagnosis of that very run says why. Exits with 1 if the loss hardly falls, or if something in the model or
    the loop is found to be wrong. Nothing that the script writes is left behind.
    """
    from sickbay.conclude import diagnose
    from sickbay.report.trials import bars
    from sickbay.report.words import headline
    from sickbay.supervise.examining import examine, must
    from sickbay.supervise.overfitting import judge
    from sickbay.trials.orders import Orders

    what, folder = opened(command, runs_dir, "overfit")
    treat = f"one-batch={rows or 0},{REGULARISERS_OFF}"
    (seen,) = examine(what, folder, [("overfit", Orders(treat=treat, steps=steps, total=steps, seed=0))])
    record = must(seen)
    found = judge(record)
    out = page()
    out.prose(found.text, indent=len(found.word) + 2, label=found.word, mark="bold green" if found.memorised else "bold red")
    values = [float(v) for v in losses(record)]
    if values:
        out.line(("loss ", "dim"), bars(values, (min(values), max(values), False)))
    causes = found.held_against(diagnose(record))
    for cause in causes:
        out.prose(f"{headline(cause.title)}: {cause.evidence[0].text}", indent=6, label="But" if found.memorised else "Why")
    if found.alarming and not causes:
        out.prose("nothing structural was found; more steps, a higher learning rate or a wider model would be next", indent=6, label="Why")
    sys.exit(1 if causes or found.alarming else 0)


@click.command(context_settings=SCRIPT)
@click.option("--steps", type=click.IntRange(min=40), default=200, show_default=True, metavar="N", help="Steps of the sweep.")
@click.option("--from", "low", type=float, default=1e-6, show_default=True, help="Lowest learning rate.")
@click.option("--to", "high", type=float, default=10.0, show_default=True, help="Highest learning rate.")
@on_option
@runs_option
@command_argument
def lr(command: tuple[str, ...], steps: int, low: float, high: float, on: str | None, runs_dir: Path | None) -> None:
    """Find a learning rate for the script by a range test.

    The script is run with a rate that rises exponentially from step to step, and is stopped after the sweep; its own schedule is kept out of it. Nothing that
    it writes is left behind.
    """
    from sickbay.report.plots import plot
    from sickbay.supervise.sweeping import sweep

    what, folder = opened(command, runs_dir, "lr")
    found, used = sweep(what, folder, low, high, steps, runner_for(on, 1))
    out = page()
    for line in plot(found.rates, found.losses, log_x=True, mark=found.suggestion):
        out.line(line)
    if found.suggestion is None:
        out.prose(found.reason, indent=15, label="NO SUGGESTION", mark="bold yellow")
        sys.exit(1)
    out.prose(f"{found.reason}.", indent=len(f"lr {found.suggestion:.1g}") + 2, label=f"lr {found.suggestion:.1g}", mark="bold green")
    if used is not None:
        out.prose(f"the script itself uses {used:.3g}, {_apart(used / found.suggestion)}", style="dim")


def _apart(ratio: float) -> str:
    if 1 / 3 <= ratio <= 3:
        return "which is about the same"
    return f"{ratio:.3g} times that" if ratio > 1 else f"{1 / ratio:.3g} times less"


@click.command(context_settings=SCRIPT)
@click.option("-n", "number", type=click.IntRange(min=2), default=5, show_default=True, metavar="N", help="Seeds.")
@click.option("--steps", type=click.IntRange(min=1), metavar="N", help="Steps of each run  [default: the whole script]")
@click.option("--treat", metavar="NAME[=VALUE],...", help="Run each seed a second time with this, and say whether it makes a difference.")
@jobs_option("Runs")
@on_option
@runs_option
@command_argument
def seeds(
    command: tuple[str, ...], number: int, steps: int | None, treat: str | None, jobs: int | None, on: str | None, runs_dir: Path | None
) -> None:
    """How much of the script's result is the seed?

    The script is run with several seeds (also where it sets its own), and the results are told as mean and spread.
    """
    from sickbay.supervise.seeding import across_seeds, table
    from sickbay.trials.treatment import parse

    if treat is not None:
        parse(treat)
    what, folder = opened(command, runs_dir, "seeds")
    results = across_seeds(what, folder, number, steps, treat, runner_for(on, jobs), told=lambda name: click.echo(f"sickbay: {name} done", err=True))
    out = page()
    for line in table(results, treat):
        out.prose(line, hang=2)


@click.command(context_settings=SCRIPT)
@click.option("--steps", type=click.IntRange(min=1), metavar="N", help="Steps to compare  [default: the whole script]")
@runs_option
@command_argument
def deterministic(command: tuple[str, ...], steps: int | None, runs_dir: Path | None) -> None:
    """Does the script repeat itself?

    It is run twice, and the first step that differs is told.

    Exits with 1 if the two runs differ.
    """
    from sickbay.supervise.repeating import repeat

    what, folder = opened(command, runs_dir, "deterministic")
    same, text = repeat(what, folder, steps)
    label = "REPEATABLE" if same else "NOT REPEATABLE"
    page().prose(text, indent=len(label) + 2, label=label, mark="bold green" if same else "bold red")
    sys.exit(0 if same else 1)


EXAMS: tuple[click.Command, ...] = (overfit, lr, seeds, deterministic)
