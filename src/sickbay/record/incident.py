"""The files of an incident, beside the record of the process that it happened in.

    process-1234.incident.pt     the tensors; loads with torch.load(weights_only=True)
    process-1234.incident.json   what they are (`facts.Incident`); written last, so that it marks the whole as complete

Each is written under another name, forced to disk and then renamed: a process that is killed meanwhile leaves a file whose
name begins with a dot, and nobody takes that for an incident. Used inside the user's process: standard library only.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

SCHEMA = "sickbay/incident/1"
WHAT = "the incident: batch, weights and random state of the first step that was not finite"
"""What a record says was not seen, if it could not be kept."""
TENSORS, DESCRIPTION = ".incident.pt", ".incident.json"


def tensors_beside(record: Path) -> Path:
    return record.with_name(record.stem + TENSORS)


def description_beside(record: Path) -> Path:
    return record.with_name(record.stem + DESCRIPTION)


def write_whole(path: Path, write: Callable[[BinaryIO], Any]) -> int:
    """All of it or nothing; gives its size."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as f:
            write(f)
            f.flush()
            size = f.tell()
            os.fsync(f.fileno())
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    return size


def write_description(path: Path, description: Any) -> None:
    """`description` is a `facts.Incident`."""
    text = json.dumps({"schema": SCHEMA} | _plain(description), indent=1, ensure_ascii=True, allow_nan=False)
    write_whole(path, lambda f: f.write(text.encode() + b"\n"))


def _plain(value: Any) -> Any:
    """As JSON has it. Defaults are left out, and so are numbers that JSON cannot hold."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        found = {f.name: (getattr(value, f.name), f.default) for f in dataclasses.fields(value)}
        return {name: _plain(v) for name, (v, default) in found.items() if v is not None and (default is dataclasses.MISSING or v != default)}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    return value if value is None or isinstance(value, (str, int)) else str(value)
