"""`sickbay runs`: what was recorded here, and cleaning up."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sickbay.cli.options import runs_option
from sickbay.errors import UsageError

if TYPE_CHECKING:
    from sickbay.runs import ListedRun

DAY = 86_400.0
AGE_UNITS = {"m": 60.0, "h": 3600.0, "d": DAY, "w": 7 * DAY}
KEEP = 10


@click.command()
@click.option("--prune", is_flag=True, help=f"Delete old runs: all but the newest {KEEP}, or as --keep and --older say.")
@click.option("--keep", type=click.IntRange(min=0), metavar="N", help="With --prune: keep the N newest.")
@click.option("--older", metavar="AGE", help="With --prune: delete only what is older, for example 30d, 12h or 2w.")
@click.option("--yes", is_flag=True, help="With --prune: do not ask.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@runs_option
def runs(prune: bool, keep: int | None, older: str | None, yes: bool, as_json: bool, runs_dir: Path | None) -> None:
    """List the recorded runs, newest first."""
    from sickbay.runs import list_runs, runs_root

    root = runs_root(runs_dir)
    found = list_runs(root)
    if (keep is not None or older or yes) and not prune:
        raise UsageError("--keep, --older and --yes belong to --prune: write `sickbay runs --prune ...`")
    if prune:
        _prune(found, keep, older, yes)
    elif as_json:
        _as_json(found)
    elif not found:
        click.echo(f"no runs in {root} yet; make one with `sickbay run train.py`")
    else:
        _table(found)


def _prune(found: list[ListedRun], keep: int | None, older: str | None, yes: bool) -> None:
    from sickbay.runs import delete, to_prune

    kept = keep if keep is not None else (0 if older else KEEP)
    doomed = to_prune(found, kept, parse_age(older) if older else 0.0)
    if not doomed:
        click.echo("nothing to delete")
        return
    _table(doomed)
    freed, count = size(sum(r.size for r in doomed)), f"{len(doomed)} run{'' if len(doomed) == 1 else 's'}"
    if not yes:
        if not _can_ask():
            raise UsageError(f"deleting {count} needs a yes: add --yes")
        if not click.confirm(f"Delete {count} and free {freed}?"):
            return
    delete(doomed)
    click.echo(f"deleted {count}, freed {freed}")


def _can_ask() -> bool:
    return sys.stdin.isatty()


def _table(found: list[ListedRun]) -> None:
    rows = [(r.name, time.strftime("%Y-%m-%d %H:%M", time.localtime(r.info.started)), _verdict(r), _exit(r), size(r.size)) for r in found]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    for row in rows:
        click.echo("  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[4].rjust(8)]))


def _verdict(run: ListedRun) -> str:
    return "running" if run.running else run.verdict or "not diagnosed"


def _exit(run: ListedRun) -> str:
    ended = run.info.exit
    return "" if ended is None or ended == 0 else f"exit {ended}" if isinstance(ended, int) else ended


def _as_json(found: list[ListedRun]) -> None:
    import json

    def row(r: ListedRun) -> dict[str, Any]:
        return {
            "name": r.name,
            "folder": str(r.folder),
            "started": r.info.started,
            "seconds": r.info.seconds,
            "exit": r.info.exit,
            "verdict": r.verdict or None,
            "running": r.running,
            "bytes": r.size,
        }

    click.echo(json.dumps([row(r) for r in found], indent=2))


def parse_age(text: str) -> float:
    """Seconds of `30d`, `12h`, `2w`, `90m`."""
    match = re.fullmatch(r"([0-9]+)\s*([mhdw])", text.strip().lower())
    if not match:
        raise UsageError(f"{text!r} is not an age: expected a number with m, h, d or w; write for example 30d")
    return int(match[1]) * AGE_UNITS[match[2]]


def size(count: float) -> str:
    """1,536 -> "1.5 KB"."""
    from sickbay.report import words

    return words.size(count)
