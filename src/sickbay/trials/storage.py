"""The results of trials, kept in the folder of the run that they belong to. Needs no torch."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import msgspec

from sickbay.nouns import Trial

TRIALS_FILE = "trials.json"
TRIALS_FOLDER = "trials"


def load_trials(folder: Path) -> tuple[Trial, ...]:
    """Those of a run; none if nothing was tried, or if the file cannot be read."""
    try:
        data = json.loads((folder / TRIALS_FILE).read_text(encoding="utf-8"))
        return tuple(msgspec.convert(data["trials"], list[Trial]))
    except (OSError, ValueError, KeyError, TypeError, msgspec.ValidationError):
        return ()


def dump_trials(trials: tuple[Trial, ...]) -> str:
    return json.dumps({"schema": "sickbay/trials/1", "trials": [asdict(t) for t in trials]}, indent=1) + "\n"
