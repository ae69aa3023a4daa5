"""`sickbay treatments`: what `--treat` and trials can change in a run."""

from __future__ import annotations

import click


@click.command()
def treatments() -> None:
    """List what a run can be treated with.

    As in `sickbay run --treat NAME[=VALUE] train.py`.
    """
    from sickbay.cli.output import console
    from sickbay.report.terminal import Page
    from sickbay.trials.registry import catalogue

    page = Page(console())
    known = catalogue().values()
    shown = {i.name: f"{i.name}={i.default or '...'}" if i.parse is not None else i.name for i in known}
    indent = max(map(len, shown.values())) + 2
    for each in known:
        page.prose(each.describe, indent=indent, label=shown[each.name], mark="bold")
