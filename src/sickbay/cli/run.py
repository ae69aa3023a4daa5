"""`sickbay run`: start the user's command, watch it, and tell what was found when it has ended."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sickbay import __version__
from sickbay.cli.options import budget_option, exit_code_option, jobs_option, json_option, on_option, runs_option, settings_options
from sickbay.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sickbay.nouns import Diagnosis
    from sickbay.settings import Settings
    from sickbay.supervise.child import Ending
    from sickbay.supervise.command import Command


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@settings_options
@click.option("--name", metavar="NAME", help="Name of the run  [default: the script's name and the time]")
@runs_option
@json_option
@exit_code_option
@click.option(
    "--treat",
    metavar="NAME[=VALUE],...",
    help="Run the script with something changed, for example lr=x0.1 or clip=1.0; `sickbay treatments` lists them.",
)
@click.option("--trials", is_flag=True, help="Then try the cures of what is suspected on the script, and tell what helped (see `sickbay try`).")
@budget_option
@click.option("--trial-steps", type=click.IntRange(min=1), metavar="N", help="With --trials: steps of each trial.")
@jobs_option("With --trials: trials")
@on_option
@click.option("--no-html", is_flag=True, help="Do not write the HTML report.")
@click.option("--quiet", is_flag=True, help="No live line and no report in the terminal.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="COMMAND...")
def run(
    command: tuple[str, ...],
    name: str | None,
    runs_dir: Path | None,
    json_file: str | None,
    exit_code: bool,
    treat: str | None,
    trials: bool,
    budget_time: float | None,
    trial_steps: int | None,
    jobs: int | None,
    on: str | None,
    no_html: bool,
    quiet: bool,
    **settings: Any,
) -> None:
    """Run a training script, unmodified, and diagnose it.

    \b
    sickbay run train.py --epochs 3
    sickbay run -m package.train
    sickbay run torchrun --nproc-per-node 2 train.py

    Options of sickbay go before the command; everything after it belongs to the command. The script's output,
    signals and exit code are its own.
    """
    from sickbay.runs import new_run, runs_root
    from sickbay.settings import Settings
    from sickbay.supervise.child import DIE_ALIKE, end_like
    from sickbay.supervise.command import resolve

    if trials and treat:
        raise UsageError("--trials tries cures on the script as it is; leave --treat out, or try one thing with `sickbay try --treat ...` afterwards")
    if json_file not in (None, "-") and not Path(json_file or "").absolute().parent.is_dir():
        raise UsageError(f"cannot write {json_file}: its folder does not exist")
    variables = _treated(treat)
    what = resolve(command)
    folder = new_run(runs_root(runs_dir), what.stem, name)
    ending = start(what, folder, Settings(**settings), live=not quiet, variables=variables)
    if trials and ending.exit not in DIE_ALIKE:
        _try(folder, budget_time, trial_steps, jobs, on)
    diagnosis = tell(folder, json_file=json_file, html=not no_html, quiet=quiet)
    sick = exit_code and diagnosis is not None and diagnosis.verdict == "sick"
    end_like(ending, 1 if sick and ending.code == 0 else ending.code)


def _treated(treat: str | None) -> dict[str, str]:
    """What tells the child of its treatment."""
    if treat is None:
        return {}
    from sickbay.trials.orders import Orders
    from sickbay.trials.treatment import parse

    return Orders(treat=",".join(map(str, parse(treat)))).to_env()


def _try(folder: Path, budget: float | None, steps: int | None, jobs: int | None, on: str | None) -> None:
    from sickbay.cli.output import contained
    from sickbay.cli.trying import carry_out

    with contained("the trials could not be run", folder):
        carry_out(folder, given=(), budget=budget, steps=steps, jobs=jobs, on=on)


def start(
    what: Command, folder: Path, settings: Settings, *, live: bool, cwd: str | None = None, variables: Mapping[str, str] | None = None
) -> Ending:
    """Run the command to its end (elsewhere, with more in its environment, for a replay). `run.json` tells of it before and after."""
    from sickbay.runs import RunInfo
    from sickbay.supervise.child import environment, run_child
    from sickbay.supervise.line import live_line
    from sickbay.supervise.pulse import Checkup, describe, read_pulse

    info = RunInfo(
        command=what.argv, cwd=cwd or str(Path.cwd()), python=sys.version.split()[0], sickbay=__version__, supervisor=os.getpid(), started=time.time()
    )
    info.save(folder)
    checkup = Checkup(folder)

    def words() -> str:
        pulse = read_pulse(folder)
        return describe(pulse, checkup.text(pulse))

    try:
        with live_line(words, enabled=live):
            ending = run_child(what.argv, environment(folder, settings) | dict(variables or {}), cwd)
    except UsageError:
        for file in folder.iterdir():  # nothing was started: leave no run behind
            file.unlink()
        folder.rmdir()
        raise
    with suppress(OSError):  # a full disk must not hide how the script ended
        replace(info, ended=time.time(), seconds=round(ending.seconds, 3), exit=ending.exit, reached=reached(folder)).save(folder)
    return ending


def reached(folder: Path) -> str:
    """How far into the command we got; takes away the marks that say so."""
    from sickbay.observe.bootstrap import PYTHON_REACHED, TORCH_REACHED

    far = "torch" if (folder / TORCH_REACHED).exists() else "python" if (folder / PYTHON_REACHED).exists() else ""
    for mark in (PYTHON_REACHED, TORCH_REACHED):
        (folder / mark).unlink(missing_ok=True)
    return far


def tell(folder: Path, *, json_file: str | None, html: bool, quiet: bool) -> Diagnosis | None:
    """Diagnose from the record on disk. None if that fails: the script's own ending is what counts."""
    from sickbay.cli.output import conclude, contained, deliver
    from sickbay.runs import open_run

    diagnosis = None
    with contained("the run could not be diagnosed", folder):
        record = open_run(folder)
        diagnosis = conclude(record, folder)
        deliver(diagnosis, record, folder, json_file=json_file, html=html, quiet=quiet)
    return diagnosis
