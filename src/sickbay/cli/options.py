"""Options that several commands share, and those made from the fields of `Settings`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import click

from sickbay.errors import SettingsError
from sickbay.settings import Settings

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
