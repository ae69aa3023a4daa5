"""Folders: which files in them are logs, oldest first."""

from __future__ import annotations

import os
from pathlib import Path

from sickbay.errors import LogError
from sickbay.record.foreign import mlflow, nameless, numbered
from sickbay.record.foreign.names import EVAL, TRAIN, words
from sickbay.record.foreign.source import open_source

NAMES = (
    "trainer_state.json",
    "metrics.csv",
    "results.csv",
    "summary.csv",
    "log.txt",
    "metrics.json",
    "trainer_log.jsonl",
    "history.json",
    "history.csv",
)
ENDINGS = (".csv", ".jsonl", ".log", ".tsv", ".wandb", ".db", ".log.json")
IGNORED = frozenset({".git", "node_modules", "__pycache__", ".venv", "venv", "site-packages"})
MOST = 200
DEEPEST = 6


def logs_in(folder: Path) -> list[Path]:
    """The logs below a folder. The folder's own name decides nothing, file names only which files are worth opening."""
    found: list[Path] = []
    for here, folders, files in os.walk(folder):
        place = Path(here)
        depth = len(place.relative_to(folder).parts)
        folders[:] = [] if depth >= DEEPEST else sorted(f for f in folders if f not in IGNORED)
        if mlflow.is_run(place):
            found.append(place)
            folders[:] = []
            continue
        if numbered.is_run(place):
            found.append(place)
            files = sorted(set(files) - {f.name for f in numbered.files(place)})
        events = [f for f in files if "tfevents" in f]
        if events:
            run = _run_of(place, folder)
            if not any(run.is_relative_to(f) for f in found if f.is_dir()):
                found.append(run)
        found += [place / f for f in files if f in NAMES or f.lower().endswith(ENDINGS)]
    found = [p for p in found if p.is_dir() or _opens(p)]
    if not found:
        raise LogError(f"{folder} holds no file that looks like a log: pass the file itself")
    return sorted(found, key=_changed)[-MOST:]


def _run_of(place: Path, folder: Path) -> Path:
    """Keras keeps the events of one run in a folder for training and one for validation."""
    return place.parent if place != folder and (TRAIN | EVAL) & set(words(place.name)) else place


def _opens(path: Path) -> bool:
    """Whether it holds anything. Numbers without names are as often data as a log: only where such a file is asked for is it taken for one."""
    try:
        source = open_source(path)
        return bool(source.head) and not nameless.matches(source)
    except LogError:
        return False


def _changed(path: Path) -> tuple[float, str]:
    """When it was last written to; the name decides between those that were copied together."""
    try:
        files = [path] if path.is_file() else [p for p in path.iterdir() if p.is_file()]
        return max((round(p.stat().st_mtime) for p in files), default=0), str(path)
    except OSError:
        return 0, str(path)
