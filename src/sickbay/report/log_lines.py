"""What a report says about a log: which file and run, and which column was taken for what."""

from __future__ import annotations

from sickbay.facts import Log
from sickbay.record.reader import Record
from sickbay.report import words

NAMES = {
    "loss/train": "training loss",
    "loss/eval": "validation loss",
    "accuracy/train": "training accuracy",
    "accuracy/eval": "validation accuracy",
    "score/train": "training score",
    "score/eval": "validation score",
    "error/eval": "validation error",
    "lr": "learning rate",
    "grad_norm": "gradient norm",
    "reward": "reward",
    "epoch": "epoch",
}


def log_lines(record: Record) -> tuple[tuple[str, str], ...]:
    """Label and text of each line; none for a run that sickbay itself has watched."""
    log = record.facts.log
    if log is None:
        return ()
    which = f", run {log.run + 1} of {log.runs} in it" if log.runs > 1 else ""
    lines = [("Log", f"{words.clean(log.file)} ({log.format}{which})"), ("Columns", _columns(record, log))]
    return tuple(lines + [("Note", words.sentence(n)) for n in log.notes])


def _columns(record: Record, log: Log) -> str:
    told = []
    for t in log.taken:
        stem, _, number = t.series.partition("@")
        name = NAMES.get(stem, stem) + (f" {int(number) + 1}" if number.isdigit() else "")
        columns = " + ".join(repr(words.clean(c)) for c in t.columns)
        told.append(f"{name} from {columns} ({words.count(len(record.series(t.series)), 'value')})")
    return "; ".join(told)
