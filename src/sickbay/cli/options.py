"""Options that several commands share, and those made from the fields of `Settings`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sickbay.errors import SettingsError, UsageError
from sickbay.settings import Settings

if TYPE_CHECKING:
    from sickbay.trials.runner import Runner

F = TypeVar("F", bound=Callable[..., Any])
NAMES = {"record_bytes": "--record-budget"}
"""Where the name on the command line is not the field's own."""

runs_option = click.option(
    "--runs",
    "runs_dir",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where runs are kept  [default: $SICKBAY_RUNS or .sickbay/runs]",
)
json_option = click.option("--json", "json_file", metavar="FILE", help="Also write the diagnosis as a JSON document; - for standard output.")
exit_code_option = click.option("--exit-code", is_flag=True, help="Exit with 1 if the verdict is sick.")


TIMES = {"s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}


def parse_time(_: click.Context, __: click.Parameter, text: str | None) -> float | None:
    """`5m`, `90s`, `1h`."""
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([smh]?)", text.strip().lower())
    if not match or float(match[1]) <= 0:
        raise click.BadParameter(f"{text!r} is not a time: expected a number with s, m or h; write for example 5m")
    return float(match[1]) * TIMES[match[2]]


budget_option = click.option(
    "--budget-time", callback=parse_time, metavar="TIME", help="What all trials together may take, for example 5m  [default: twice the run]"
)
on_option = click.option("--on", "on", metavar="ray[://HOST:PORT]", help="Run them on a Ray cluster  [default: here]")


def runner_for(on: str | None, jobs: int | None) -> Runner:
    """Where jobs are run: here, one at a time unless told otherwise, or on a cluster, as many as it has processors."""
    if on is None:
        from sickbay.trials.runner import LocalRunner

        return LocalRunner(jobs or 1)
    if on != "ray" and not on.startswith("ray://"):
        raise UsageError(f"--on {on} is not known: expected ray or ray://HOST:PORT")
    from sickbay.supervise.on_ray import RayRunner

    return RayRunner(on if on != "ray" else None, jobs)


def jobs_option(what: str) -> Callable[[F], F]:
    """`--jobs`, for that many runs or trials."""
    return click.option("--jobs", type=click.IntRange(min=1), metavar="N", help=f"{what} at a time  [default: 1; on a cluster all its processors]")


def settings_options(function: F) -> F:
    """One option per field of `Settings`, given to the function under the field's name."""
    for f in reversed(fields(Settings)):
        name = NAMES.get(f.name, "--" + f.name.replace("_", "-"))
        text = f"{f.metadata['help']}  [default: {f.metadata['show']}]"
        decorate = click.option(name, f.name, default=f.default, callback=_parse, metavar=f.metadata["metavar"], help=text, type=click.UNPROCESSED)
        function = decorate(function)
    return function


def _parse(_: click.Context, parameter: click.Parameter, value: Any) -> Any:
    parse = next(f for f in fields(Settings) if f.name == parameter.name).metadata["parse"]
    try:
        return parse(value)
    except SettingsError as e:
        raise click.BadParameter(str(e), param=parameter) from None
