"""`sickbay explain` and `sickbay causes`: the catalogue, from the cause files' own documentation."""

from __future__ import annotations

import json

import click


@click.command()
@click.argument("cause", metavar="CAUSE-OR-CODE")
def explain(cause: str) -> None:
    """Explain a cause.

    What happens, how we know, what it is not, how to fix it.
    """
    from sickbay.causes import find
    from sickbay.cli.output import console
    from sickbay.report.terminal import render_explanation

    render_explanation(find(cause), console())


@click.command()
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def causes(as_json: bool) -> None:
    """List every cause that sickbay knows."""
    from sickbay.causes import catalogue

    known = catalogue()
    if as_json:
        rows = [
            {"cause": c.name, "code": c.code, "level": c.level, "title": c.title, "why": c.why, "explains": sorted(c.explains)}
            for c in known.values()
        ]
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    from sickbay.cli.output import console
    from sickbay.report.terminal import render_catalogue

    render_catalogue(known.values(), console())
