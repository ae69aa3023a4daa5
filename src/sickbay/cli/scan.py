"""`sickbay scan module:loader`: an examination of loaders before any training."""

from __future__ import annotations

import sys
import zlib
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from sickbay.scans import ScanResult


@click.command()
@click.argument("loader", metavar="MODULE:LOADER")
@click.argument("second", metavar="[MODULE:VAL_LOADER]", required=False)
@click.option("--val", metavar="MODULE:LOADER", help="The validation loader, to compare with; the same as a second argument.")
@click.option("--workers", type=click.IntRange(min=0), metavar="N", help="Load with so many workers  [default: the loader's own]")
@click.option("--resume", is_flag=True, help="Go on where Ctrl-C stopped the last scan of these loaders.")
@click.option("--json", "json_file", metavar="FILE", help="Also write the findings as a JSON document; - for standard output.")
@click.option("-o", "--output", "html_file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Also write the HTML report.")
@click.option("--samples", is_flag=True, help="Show what exceptions said, which may hold values of samples.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 if something is wrong.")
def scan(
    loader: str,
    second: str | None,
    val: str | None,
    workers: int | None,
    resume: bool,
    json_file: str | None,
    html_file: Path | None,
    samples: bool,
    exit_code: bool,
) -> None:
    """Look at every batch of a loader before training.

    LOADER is a loader in a module or a file, or a function without arguments that makes one (or both, training's first): data.py:train_loader,
    mypackage.data:make_loaders. The module is imported for it: what it does when it is imported, it does here.

    Batches are checked for NaN and infinity, samples that cannot be loaded, types, ranges and labels; samples for order, copies, leaks into validation and wrong
    labels. Nothing of the samples is written anywhere.
    """
    from sickbay.cli.loaders import load, load_all
    from sickbay.scans import scan as examine

    if second is not None and val is not None:
        raise click.UsageError(f"two validation loaders were given: {second} and --val {val}")
    val = val or second
    with redirect_stdout(sys.stderr) if json_file == "-" else nullcontext():
        train, held_out = load_all(loader) if val is None else (load(loader), load(val))
        state = _state(loader, val)
        if resume and not state.exists():
            click.echo("sickbay: no scan of these loaders was stopped here; this one starts from the beginning", err=True)
        result = examine(train, held_out, workers=workers, samples=samples, state=state, go_on=resume)
    stopped = any(x.ended_by == "interrupted" for x in (result.seen.train, result.seen.val) if x is not None)
    _deliver(result, json_file, html_file)
    if stopped:
        click.echo(f"sickbay: stopped; `sickbay scan {loader}{f' --val {val}' if val else ''} --resume` goes on from there", err=True)
        sys.exit(130)
    sys.exit(1 if exit_code and result.wrong else 0)


def _deliver(result: ScanResult, json_file: str | None, html_file: Path | None) -> None:
    from sickbay.cli.output import console, write
    from sickbay.report.document import dumps
    from sickbay.report.scan_page import render

    if html_file is not None:
        write(html_file, result.html())
    if json_file == "-":
        click.echo(dumps(result.document()), nl=False)
        return
    if json_file:
        write(Path(json_file), dumps(result.document()))
    render(result.seen, result.findings, console(), samples=result.samples)


def _state(loader: str, val: str | None) -> Path:
    """Where a scan of these loaders is kept when it is stopped."""
    return Path(".sickbay") / f"scan-{zlib.crc32(f'{loader} {val}'.encode()):08x}.stopped"
