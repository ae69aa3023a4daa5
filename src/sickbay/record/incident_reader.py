"""Finds and reads what describes an incident. The file may come from anywhere, so nothing in it is believed; needs no torch."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from sickbay.errors import NotARecord, RecordNotFound, RecordVersionError
from sickbay.facts import Incident
from sickbay.record.incident import DESCRIPTION, SCHEMA, TENSORS

LARGEST = 16 * 2**20
"""A description is some kilobytes; whatever is larger is something else."""


def descriptions_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("*" + DESCRIPTION))


def unfinished_in(folder: Path) -> list[Path]:
    """What a process that was killed while it wrote has left."""
    pieces = [p for kind in (TENSORS, DESCRIPTION) for p in folder.glob(f".*{kind}.*")]
    alone = [p for p in folder.glob("*" + TENSORS) if not _description_of(p).exists()]
    return sorted(pieces + alone)


def _description_of(tensors: Path) -> Path:
    return tensors.with_name(tensors.name.removesuffix(TENSORS) + DESCRIPTION)


def read_description(path: Path) -> Incident:
    """Raises a `RecordError` with a clear sentence if this is no description of an incident."""
    try:
        if path.stat().st_size > LARGEST:
            raise NotARecord(f"{path} is {path.stat().st_size:,} bytes long, far too long for the description of an incident")
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise RecordNotFound(f"there is no incident at {path}") from None
    except (OSError, UnicodeDecodeError) as e:
        raise NotARecord(f"{path} cannot be read as the description of an incident: {e}") from None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise NotARecord(f"{path} is not the description of an incident: it is not valid JSON ({e})") from None
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        if isinstance(schema, str) and schema.startswith("sickbay/incident/"):
            raise RecordVersionError(
                f"{path} was written in the format {schema!r}, this sickbay reads {SCHEMA!r}: upgrade with `pip install -U sickbay`"
            )
        raise NotARecord(f"{path} is not the description of an incident: expected a JSON object whose schema is {SCHEMA!r}")
    try:
        found = msgspec.convert(data, Incident, strict=False)
    except (msgspec.ValidationError, RecursionError) as e:
        raise NotARecord(f"{path} is damaged: {e}") from None
    if found.file and (Path(found.file).name != found.file or found.file in (".", "..")):
        raise NotARecord(f"{path} is damaged: it says that the tensors are at {found.file!r}, but they always lie beside it")
    return found


def tensors_of(description: Path, incident: Incident) -> Path | None:
    """The file with the tensors; None if there is none. Raises a `RecordError` if it is not the one that was written."""
    if not incident.file:
        return None
    path = description.with_name(incident.file)
    try:
        size = path.stat().st_size
    except OSError:
        raise RecordNotFound(f"the tensors of the incident are not here: {path} is missing; copy it from where the run was made") from None
    if size != incident.bytes:
        raise NotARecord(f"{path} is {size:,} bytes long, but {incident.bytes:,} were written: it was cut short or replaced")
    return path
