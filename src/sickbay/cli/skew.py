"""`sickbay skew`: do training and serving prepare the same samples alike?"""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command()
@click.argument("train")
@click.argument("serve")
@click.option(
    "--samples", metavar="NAME", help="file.py:name of the raw samples (a list, a data set, a generator), where TRAIN and SERVE are functions."
)
@click.option("--values", is_flag=True, help="Show the first two values that differ; without this, no value of any sample is shown.")
@click.option("--json", "json_file", metavar="FILE", help="Also write what was found as a JSON document; - for standard output.")
def skew(train: str, serve: str, samples: str | None, values: bool, json_file: str | None) -> None:
    """Do training and serving prepare samples alike?

    If the same raw samples are not the same tensors: where first, and what maps one to the other.

    TRAIN and SERVE are two functions that prepare one sample (file.py:name, with --samples), or two saved files with one row per sample: .pt, .npy, .npz
    or .csv. Exits with 0 if both are the same (but for rounding), else with 1.
    """
    from sickbay.cli.loading import named, thing
    from sickbay.cli.output import console, write_text
    from sickbay.errors import UsageError
    from sickbay.exams.skew import compare
    from sickbay.exams.skew import skew as examine
    from sickbay.exams.skew_sides import FILES, read
    from sickbay.report import skew_page
    from sickbay.report.document import dumps

    files = [text.lower().endswith(FILES) for text in (train, serve)]
    if all(files):
        tables = all(text.lower().endswith(".csv") for text in (train, serve))
        found = compare(read(Path(train)), read(Path(serve)), values=values, ordered=tables)
    elif any(files) or samples is None:
        raise UsageError(f"give two files ({', '.join(FILES)}), or two functions (file.py:name) and --samples file.py:name")
    else:
        found = examine(named(train), named(serve), thing(samples), values=values).found
    if json_file:
        write_text(dumps(skew_page.document(found)), json_file)
    if json_file != "-":
        skew_page.render(found, console())
    sys.exit(0 if found.sameness in ("same", "rounding") else 1)
