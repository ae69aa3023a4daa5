"""`sickbay checklist`: the five things to try first on any script, as one command."""

from __future__ import annotations

from pathlib import Path

import click

from sickbay.cli.exams import REGULARISERS_OFF, SCRIPT, command_argument, opened, page
from sickbay.cli.options import jobs_option, on_option, runner_for, runs_option

TREATED = (("learning rate ×0.1", "lr=x0.1"), ("gradients clipped at 1.0", "clip=1.0"), ("full precision", "fp32"))


@click.command(context_settings=SCRIPT)
@click.option("--steps", type=click.IntRange(min=20), default=200, show_default=True, metavar="N", help="Steps of each run.")
@jobs_option("Runs")
@on_option
@runs_option
@command_argument
def checklist(command: tuple[str, ...], steps: int, jobs: int | None, on: str | None, runs_dir: Path | None) -> None:
    """Try the five first things on a script.

    A tenth of the learning rate, clipping, full precision, two samples by heart, and a look at the data.

    The script is run a few times for some steps, each time with one thing changed, and left as it was.
    """
    from sickbay.supervise.checking import conclusion, rows, uses_half
    from sickbay.supervise.examining import Examined, examine, must
    from sickbay.trials.orders import Orders

    what, folder = opened(command, runs_dir, "checklist")
    runner = runner_for(on, jobs)
    found: dict[str, Examined] = {}

    def run(*wanted: tuple[str, Orders]) -> None:
        for seen in examine(what, folder, wanted, runner=runner):
            click.echo(f"sickbay: {seen.name} done ({seen.done.seconds:.0f} s)", err=True)
            found[seen.name] = seen

    run(("as-it-is", Orders(steps=steps, seed=0)))
    half = uses_half(must(found["as-it-is"]))
    treated = [(treat, Orders(treat=treat, steps=steps, total=steps, seed=0)) for _, treat in TREATED if half or treat != "fp32"]
    run(*treated, ("two-samples", Orders(treat=f"one-batch=2,{REGULARISERS_OFF}", steps=steps, total=steps, seed=0)))
    out = page()
    table = rows(found, TREATED)
    indent = max(len(row.what) for row in table) + 2
    for row in table:
        out.prose(f"{row.word}: {row.text}" if row.text else row.word, indent=indent, label=row.what, mark="bold" if row.alarming else "")
    out.line()
    out.prose(conclusion(found, table))
