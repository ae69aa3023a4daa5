"""Logs that other tools wrote, as records. One file per format, found by content; nothing is unpickled or executed.

    file ──format──▶ Sheet (named columns over rows) ──choose, runs──▶ Records, one for each run of the file

`read_logs` takes files and folders and gives the records of all runs in them, the last one last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from sickbay.errors import LogError
from sickbay.record.foreign import mlflow, numbered, tensorboard
from sickbay.record.foreign.build import records
from sickbay.record.foreign.choose import parse_map
from sickbay.record.foreign.detect import read_file
from sickbay.record.foreign.folders import logs_in
from sickbay.record.reader import Record

__all__ = ["parse_map", "read_log", "read_logs"]


def read_logs(paths: Sequence[Path], wanted: Mapping[str, str] | None = None, left_out: list[LogError] | None = None) -> list[Record]:
    """The runs of all these files and folders, the last one last. Raises `LogError` if there is none.

    Why a file that was named beside others could not be read is added to `left_out`; what else lies in a folder need not be a log.
    """
    found: list[Record] = []
    refused: list[LogError] = []
    for path in paths:
        several = path.is_dir() or len(paths) > 1
        for log in logs_in(path) if path.is_dir() else [path]:
            try:
                found += read_log(log, wanted)
            except LogError as e:
                if not several:
                    raise
                refused.append(e)
                if left_out is not None and not path.is_dir():
                    left_out.append(e)
    if not found:
        named = ", ".join(map(str, paths))
        raise LogError(
            f"no log was found in {named}"
            + (f": {refused[0]}" if len(refused) == 1 else f" ({len(refused)} files were tried; the first: {refused[0]})" if refused else "")
        )
    return found


def read_log(path: Path, wanted: Mapping[str, str] | None = None) -> list[Record]:
    """The runs of one log: a file, or a folder that is one log as a whole (an MLflow run, a folder of event files or of one file for each epoch)."""
    with np.errstate(over="ignore", invalid="ignore"):  # a log may hold any number; those beyond all bounds become infinite
        return list(_read(path, wanted or {}))


def _read(path: Path, wanted: Mapping[str, str]) -> Iterator[Record]:
    if path.is_dir():
        sheet = (
            mlflow.read_run(path) if mlflow.is_run(path) else numbered.read_folder(path) if numbered.is_run(path) else tensorboard.read_folder(path)
        )
        yield from records(sheet, path, wanted)
        return
    failure: LogError | None = None
    some = False
    for sheet in read_file(path):
        try:
            yield from records(sheet, path, wanted)
            some = True
        except LogError as e:
            failure = e
    if not some and failure is not None:
        raise failure
