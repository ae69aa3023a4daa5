"""`sickbay incident`: what was kept of the first step that was not finite; needs no torch."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sickbay.cli.options import runs_option
from sickbay.cli.read import run_argument
from sickbay.errors import RecordNotFound

if TYPE_CHECKING:
    from sickbay.record.reader import Record


@click.command()
@run_argument
@runs_option
def incident(run: str, runs_dir: Path | None) -> None:
    """Show the first step of a run with a NaN or infinity.

    When the loss, a gradient or a weight turns NaN or infinite, `sickbay run` keeps that step once: the batch, what the
    model was given, the weights before the update, the optimizer's state and the random states, up to --blackbox. If an
    exception ends a step before any of that, its batch and inputs are kept. The files hold samples of your data. They are written into the run's folder only; reports hold statistics, never samples.

    RUN is a run's name or its beginning, a folder, a record file, or `last` (the default). To load the tensors, use
    sickbay.load_incident(RUN) in Python; to see it happen again, `sickbay replay RUN`.
    """
    from sickbay.cli.output import console
    from sickbay.incidents import find_incident
    from sickbay.record.incident_reader import read_description, tensors_of
    from sickbay.report.incident_page import render
    from sickbay.runs import find_run, runs_root

    place = _place(run) or find_run(run, runs_root(runs_dir))
    try:
        description = find_incident(place)
    except RecordNotFound:
        if why := _why_none(place):
            raise RecordNotFound(f"{place.name} has no incident: {why}") from None
        raise
    found = read_description(description)
    tensors_of(description, found)
    render(found, description, _name(place, run), _record(description.parent), console())


def _place(run: str) -> Path | None:
    """One of the incident's own files."""
    from sickbay.record.incident import DESCRIPTION, TENSORS

    return Path(run) if run.endswith((DESCRIPTION, TENSORS)) else None


def _why_none(place: Path) -> str:
    """If there was one and it was not kept: why, as the record says."""
    from sickbay.record.incident import WHAT
    from sickbay.supervise.replay import what_happened

    folder = place if place.is_dir() else place.parent
    record = _record(folder)
    if why := next((limit.why for limit in record.facts.limits if limit.what == WHAT), ""):
        return why
    happened = what_happened(folder, record)
    if happened is None:
        return ""
    left_out = any(mask.way == "skipped" and mask.times for loss in record.facts.losses for mask in loss.masked)
    why = "the script left such losses out before any backward pass" if left_out else "--blackbox was 0"
    return (
        f"step {happened.step:,} was not finite, but {why} and nothing was kept of it; `sickbay replay {folder.name}` runs the script up to it again"
    )


def _name(place: Path, run: str) -> str:
    return place.name if place.is_dir() and run == "last" else run


def _record(folder: Path) -> Record:
    """For the source lines; the incident can be shown without."""
    from sickbay.errors import SickbayError
    from sickbay.record.reader import Record
    from sickbay.runs import open_run

    with suppress(SickbayError, OSError):
        return open_run(folder)
    return Record()
