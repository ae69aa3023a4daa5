"""`sickbay forgetting`: what a second run lost of what a first one could do."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sickbay.cli.options import runs_option


@click.command()
@click.argument("run_a")
@click.argument("run_b")
@click.option("--json", "json_file", metavar="FILE", help="Also write what was found as a JSON document; - for standard output.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 if something was forgotten.")
@runs_option
def forgetting(run_a: str, run_b: str, json_file: str | None, exit_code: bool, runs_dir: Path | None) -> None:
    """What a later run does worse than an earlier one.

    What RUN_B (fine-tuning) does worse than RUN_A did at its end, in the evaluations that both make, and since which step.

    Only curves are known of a recorded run; `sickbay.forgetting(model, {"task": loader})` in the training loop follows single samples, and notices more.
    """
    from sickbay.cli.output import console, write_text
    from sickbay.report import forgetting_page
    from sickbay.report.document import dumps
    from sickbay.runs import find_run, open_run, runs_root
    from sickbay.supervise.forgetting import compare_runs

    places = [find_run(text, runs_root(runs_dir)) for text in (run_a, run_b)]
    found = compare_runs(open_run(places[0]), open_run(places[1]), (places[0].name, places[1].name))
    if json_file:
        write_text(dumps(forgetting_page.document(found)), json_file)
    if json_file != "-":
        forgetting_page.render(found, console())
    sys.exit(1 if exit_code and any(t.worse for t in found.tasks) else 0)
