"""`sickbay doctor`: what of this environment works."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

import click

MARKS = {"ok": ("ok  ", "green"), "warning": ("warn", "yellow"), "failed": ("FAIL", "red")}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def doctor(as_json: bool) -> None:
    """Check this environment.

    Python, torch, disk, and whether a training script can really be watched.
    """
    from sickbay.doctor import examine

    checks = []
    for check in examine():
        checks.append(check)
        if not as_json:
            mark, colour = MARKS[check.state]
            click.echo(f"{click.style(mark, fg=colour)}  {check.name}: {check.text}")
    if as_json:
        click.echo(json.dumps([asdict(c) for c in checks], indent=2))
    if any(c.state == "failed" for c in checks):
        sys.exit(1)
