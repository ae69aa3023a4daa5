"""The document of a log that another tool wrote: that of a run, with what was read and with the earlier runs of the same file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sickbay.nouns import Diagnosis
from sickbay.record.reader import Record
from sickbay.report import words
from sickbay.report.document import build

Judged = tuple[Diagnosis, Record]


def build_log(judged: Judged, earlier: Sequence[Judged] = ()) -> dict[str, Any]:
    """The document of one run of a log; the earlier ones, the latest first, stand under `earlier`."""
    diagnosis, record = judged
    document = build(diagnosis) | {"shapes": list(diagnosis.shapes), "log": _log(record)}
    return document | {"earlier": [build_log(pair) for pair in earlier]} if earlier else document


def _log(record: Record) -> dict[str, Any]:
    log = record.facts.log
    if log is None:
        return {}
    return {
        "file": words.clean(log.file),
        "format": log.format,
        "run": log.run,
        "runs": log.runs,
        "axis": log.axis,
        "columns": {t.series: [words.clean(c) for c in t.columns] for t in log.taken},
        "values": {t.series: len(record.series(t.series)) for t in log.taken},
        "unused": [words.clean(c) for c in log.unused],
        "notes": [words.clean(n) for n in log.notes],
    }
