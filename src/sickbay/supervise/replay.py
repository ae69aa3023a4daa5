"""Runs the command of a record again up to its incident, and compares what happened then with what happened now."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sickbay.errors import SickbayError, UsageError
from sickbay.facts import FirstInvalid, Incident
from sickbay.incidents import find_incident
from sickbay.nouns import Place
from sickbay.observe.variables import REPLAY, result_variables
from sickbay.record.comparison import Comparison, Happened, Outcome, compare_losses
from sickbay.record.incident_reader import read_description
from sickbay.runs import RunInfo, open_run

if TYPE_CHECKING:
    from sickbay.record.reader import Record

EXIT_CODES: dict[Outcome, int] = {"recurred": 0, "absent": 1, "unreached": 2, "elsewhere": 3}
SEEDED = re.compile(r"\b(manual_seed|seed_everything|set_seed|fix_seed|seed_all)\b")


def what_happened(folder: Path, record: Record) -> Happened | None:
    """From the incident that was kept; if none was, from the record."""
    incident = incident_of(folder)
    if incident is not None:
        return Happened(incident.kind, incident.step, incident.first)
    found = [f for loss in record.facts.losses for f in loss.invalid]
    if record.facts.unused_loss is not None:
        found.append(record.facts.unused_loss)
    if found:
        first = min(found, key=lambda f: f.step)
        return Happened("gradient" if first.backward else "loss", first.step, first)
    event = next(iter(record.events("nonfinite-loss")), None)
    return Happened("loss", event.step) if event is not None else None


def incident_of(folder: Path) -> Incident | None:
    try:
        return read_description(find_incident(folder))
    except SickbayError:
        return None


def command_of(folder: Path) -> RunInfo:
    """What to start again; raises UsageError if that cannot be done."""
    info = RunInfo.load(folder)
    if not info.command:
        raise UsageError(f"{folder.name} cannot be replayed: it holds no command, since it was not recorded by `sickbay run`")
    if not Path(info.cwd).is_dir():
        raise UsageError(f"{folder.name} cannot be replayed here: it was started in {info.cwd}, and there is no such folder")
    return info


def variables_for(step: int, incident: Incident | None) -> dict[str, str]:
    """What the environment of a replay has besides ours."""
    recorded = result_variables(incident.variables) if incident is not None else {}
    recorded.pop("CUDA_VISIBLE_DEVICES", None)  # which devices there are is this machine's matter
    return recorded | {REPLAY: json.dumps(step)}


def changed_since(record: Record) -> tuple[str, ...]:
    """Source files that the record knows and that read otherwise now."""

    def changed() -> Iterator[str]:
        for file, text in record.sources.items():
            try:
                now = Path(file).read_text(encoding="utf-8", errors="replace")
            except (OSError, ValueError):
                now = ""
            if now[: len(text)] != text or len(now) != len(text) < 512 * 1024:
                yield file

    return tuple(changed())


def compare(before: Happened, recorded: Record, folder: Path) -> Comparison:
    """`recorded` is the record of the first run, `folder` that of the replay."""
    record = open_run(folder)
    now = what_happened(folder, record)
    steps = record.facts.run.steps
    reached = steps > before.step or (now is not None and now.step >= before.step)
    return Comparison(
        outcome=_outcome(before, now, reached),
        before=before,
        now=now,
        losses=compare_losses(recorded, record),
        steps=steps,
        ended="" if reached else _ended(record),
        changed=changed_since(recorded),
        sources={**recorded.sources, **record.sources},
        seeded=any(SEEDED.search(text) for text in recorded.sources.values()),
    )


def _outcome(before: Happened, now: Happened | None, reached: bool) -> Outcome:
    if now is None:
        return "absent" if reached else "unreached"
    same = now.step == before.step and (now.kind == "crash") == (before.kind == "crash")
    return "recurred" if same and not _other_line(before.first, now.first) else "elsewhere"


def _other_line(before: FirstInvalid | None, now: FirstInvalid | None) -> bool:
    """Only two exact findings can disagree; one that was read from an earlier step gives way to the exact one."""
    if before is None or now is None or not (before.traced and now.traced):
        return False
    return _line(before.place) != _line(now.place)


def _line(place: Place | None) -> tuple[str | None, int | None]:
    return (place.file, place.line) if place is not None else (None, None)


def _ended(record: Record) -> str:
    crash, run = record.facts.crash, record.facts.run
    if crash is not None:
        return crash.message.splitlines()[-1] if crash.message else crash.kind
    return f"exit code {run.exit}" if isinstance(run.exit, int) and run.exit else str(run.exit) if run.exit else "the script came to its end"
