"""The run as a report tells of it: how long it was, how it ended, what watching cost, and what is worth running next."""

from __future__ import annotations

import math
import shlex
import time
from dataclasses import dataclass
from pathlib import Path

from sickbay.causes.accuracies import told, validation_accuracy
from sickbay.causes.registry import catalogue
from sickbay.nouns import Diagnosis
from sickbay.record.reader import Record
from sickbay.report import words

REPORT_FILE = "report.html"
SHORT_SECONDS = 30


@dataclass(frozen=True, slots=True)
class RunView:
    name: str
    folder: str
    report: str
    """Path of the HTML report beside the record, or "" if there is none yet."""
    script: str
    command: str
    steps: str
    duration: str
    ended: str
    overhead: str
    """A sentence."""
    loss: str
    """ "train 2.3 → 0.41, validation 2.3 → 0.5", or ""."""
    date: str
    treated: str = ""
    """What was changed in the run by a treatment, or ""."""


def run_view(diagnosis: Diagnosis, record: Record) -> RunView:
    summary, facts = diagnosis.run, record.facts.run
    script = words.relative(summary.script or facts.script, facts.cwd)
    epochs = f" in {words.count(summary.epochs, 'epoch')}" if summary.epochs else ""
    return RunView(
        name=words.clean(summary.name),
        folder=words.here(Path(summary.folder)) if summary.folder else "",
        report=words.here(Path(summary.folder) / REPORT_FILE) if summary.folder and _exists(Path(summary.folder) / REPORT_FILE) else "",
        script=script,
        command=shlex.join((script, *(words.clean(a) for a in facts.argv[1:]))),
        steps=_length(record, words.count(summary.steps, "step") + epochs),
        duration=words.duration(summary.seconds) if record.facts.log is None else "",
        ended=_ended(diagnosis, record) if record.facts.log is None else "",
        overhead=_overhead(diagnosis, record) if record.facts.log is None else "",
        loss=_loss(record),
        date=time.strftime("%Y-%m-%d %H:%M", time.localtime(facts.started)) if facts.started > 0 else "",
        treated=words.clean(facts.treatment),
    )


def _length(record: Record, text: str) -> str:
    log = record.facts.log
    if log is None or log.axis == "step":
        return text
    return words.count(record.facts.run.steps, "epoch" if log.axis == "epoch" else "logged value")


def _exists(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _ended(diagnosis: Diagnosis, record: Record) -> str:
    code, crash = diagnosis.run.exit, record.facts.crash
    if crash:
        where = words.place(crash.place, record.facts.run.cwd)
        return f"ended by {words.clean(crash.kind)} at step {crash.step:,}" + (f", {where}" if where else "")
    if code is None:
        return "finished" if record.facts.run.finished else "still running"
    if code == 0:
        return "finished"
    return f"exit code {code}" if isinstance(code, int) else f"ended by {words.clean(code)}"


def _overhead(diagnosis: Diagnosis, record: Record) -> str:
    share, facts = diagnosis.run.overhead, record.facts.run
    if share is None or not math.isfinite(share):
        return "Our own cost was not measured."
    # Of a run of seconds the share says little: most of it is the first steps, which are measured whatever they cost.
    short = facts.overhead_seconds and facts.training_seconds < SHORT_SECONDS
    spent = f"{facts.overhead_seconds:.1f} s, most of it in the first steps" if short else f"{words.percent(share)} of training time"
    sampled = f"; {words.count(facts.sampled_steps, 'close look')} in {facts.steps:,} steps" if facts.sampled_steps else ""
    return f"Watching cost {spent}{sampled}."


def _loss(record: Record) -> str:
    parts = []
    for name, label in (("loss/train", "train"), ("loss/eval", "validation")):
        # Of several phases the newest is what the run ended with.
        series = max(record.series_like(name), key=lambda s: int(s.steps[-1]) if len(s) else -1, default=record.series(name))
        if len(series):
            ends = words.number(series.values[0]), words.number(series.values[-1])
            parts.append(f"{label} {ends[0]} → {ends[1]}" if len(series) > 1 else f"{label} {ends[0]}")
    right = validation_accuracy(record) if not any(len(s) for s in record.series_like("loss/eval")) else None
    return ", ".join([*parts, *([f"validation accuracy {told(right)}"] if right is not None else [])])


def next_commands(diagnosis: Diagnosis, run: RunView, record: Record) -> tuple[tuple[str, str], ...]:
    """Commands worth running now, each with what it gives."""
    return _after_run(diagnosis, run, _again(record, run)) if record.facts.log is None else _after_log(diagnosis)


def _again(record: Record, run: RunView) -> str:
    """How to start the script again; empty where its file alone does not say (a module of a package, a notebook's kernel)."""
    script = Path(record.facts.run.script)
    plain = script.suffix == ".py" and "site-packages" not in script.parts and not _exists(script.parent / "__init__.py")
    return run.command if plain else ""


def _after_run(diagnosis: Diagnosis, run: RunView, again: str) -> tuple[tuple[str, str], ...]:
    if diagnosis.verdict == "untrained":
        return (("sickbay doctor", "says what of this environment works"),)
    if diagnosis.causes:
        first = diagnosis.causes[0]
        explain = (f"sickbay explain {words.clean(first.cause)}", "what it is, how we know, false alarms, fixes")
        curable = first.cause in catalogue() and catalogue()[first.cause].cure
        if curable and not diagnosis.trials and run.folder:
            return ((f"sickbay try {run.name}", "runs the unmodified script again with its cure, and compares"), explain)
        return (explain,)
    if diagnosis.verdict == "undecided" and again and not diagnosis.run.steps:
        return ((f"sickbay run {again}", "once it gets as far as training"),)
    if diagnosis.verdict == "undecided" and again:
        return ((f"sickbay checklist {again}", "tries the five usual things"),)
    if run.report and again:
        return ((f"sickbay run --exit-code {again}", "fails when the script turns sick: for CI"),)
    return () if run.report else ((f"sickbay report {run.name} -o report.html", "the curves and layers behind this verdict"),)


def _after_log(diagnosis: Diagnosis) -> tuple[tuple[str, str], ...]:
    watched = (("sickbay run train.py", "watches the script itself and sees layers, gradients, data and code"),)
    if diagnosis.causes:
        return ((f"sickbay explain {words.clean(diagnosis.causes[0].cause)}", "what it is, how we know, false alarms, fixes"), *watched)
    return watched if diagnosis.verdict != "healthy" else ()
