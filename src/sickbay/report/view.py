"""One plain view of a diagnosis: strings and numbers, already formatted. All renderers draw this and nothing else.

Diagnosis + Record -> View -> terminal, html, notebook
"""

from __future__ import annotations

import math
import re
import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sickbay.causes.registry import catalogue
from sickbay.nouns import Certainty, Diagnosis, Evidence, EvidenceKind, Place, Safety, Sign, Suspicion, Verdict
from sickbay.record.reader import Record
from sickbay.report import incident, words
from sickbay.report.charts import Chart, Mark, charts, marks, second_chart
from sickbay.report.excerpts import DiffLine, Excerpt, changed_only, diff_lines, excerpt, replacement
from sickbay.report.layers import (
    ActivationRow,
    HeatMap,
    LayerRow,
    ParameterRow,
    activation_rows,
    heat_maps,
    layer_rows,
    parameter_rows,
    time_shares,
)
from sickbay.report.log_lines import log_lines
from sickbay.report.tables import Table, environment, loaders, losses, optimizers, run_facts
from sickbay.report.trials import TrialView, trial_view

EXCERPTS = 3
_DIGIT = re.compile(r"(?<![\w.])\d")
"""A number in a sentence, other than one in a name such as conv1."""
REPORT_FILE = "report.html"
SHORT_SECONDS = 30


@dataclass(frozen=True, slots=True)
class EvidenceView:
    kind: EvidenceKind
    text: str
    steps: str
    """ "steps 0 to 119", or "" if the text already says it."""
    where: str
    numbers: tuple[tuple[str, str], ...]
    """Only if the text has none itself: it is written to hold those that matter."""


@dataclass(frozen=True, slots=True)
class CauseView:
    rank: int
    cause: str
    code: str
    level: str
    title: str
    certainty: Certainty
    confidence: str
    seen: tuple[EvidenceView, ...]
    against: tuple[EvidenceView, ...]
    why: str
    where: str
    excerpts: tuple[Excerpt, ...]
    """The guilty line first; then other lines that the evidence points at."""
    fix: str
    diff: tuple[DiffLine, ...]
    replacement: str
    safety: Safety
    consequences: tuple[str, ...]
    """In words: what else this cause brought about."""
    sure: str
    """How sure, and why."""
    marks: tuple[Mark, ...]
    chart: str | None
    """Key of the chart, besides the loss, that shows it best."""
    trial: TrialView | None = None
    """What came of trying its cure."""


@dataclass(frozen=True, slots=True)
class SignView:
    name: str
    where: str
    steps: str
    strength: float
    text: str
    numbers: tuple[tuple[str, str], ...]
    explained_by: str
    """Cause that explains it, or ""."""


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


@dataclass(frozen=True, slots=True)
class View:
    verdict: Verdict
    reason: str
    run: RunView
    causes: tuple[CauseView, ...]
    signs: tuple[SignView, ...]
    not_checked: tuple[tuple[str, str], ...]
    next: tuple[tuple[str, str], ...]
    """Commands worth running now, each with what it gives."""
    charts: tuple[Chart, ...]
    heat_maps: tuple[HeatMap, ...]
    parameters: tuple[ParameterRow, ...]
    parameters_left_out: int
    activations: tuple[ActivationRow, ...]
    activations_left_out: int
    layers: tuple[LayerRow, ...]
    layers_left_out: int
    models: str
    optimizers: Table
    loaders: Table
    losses: Table
    environment: tuple[tuple[str, str], ...]
    run_facts: tuple[tuple[str, str], ...]
    time: tuple[tuple[str, float], ...]
    incident: str
    """What was kept of the first step that was not finite, in a sentence; "" if there was none."""
    incident_command: str
    """...and what shows it."""
    log: tuple[tuple[str, str], ...] = ()
    """Where the numbers come from, if another tool logged them: label and text of each line."""
    trials: tuple[TrialView, ...] = ()
    """What was tried besides the cures of the causes shown."""


def build(diagnosis: Diagnosis, record: Record) -> View:
    """Everything a report shows, for every kind of report."""
    drawn = charts(record)
    parameters, parameters_left_out = parameter_rows(record)
    activations, activations_left_out = activation_rows(record)
    layers, layers_left_out = layer_rows(record)
    run = _run(diagnosis, record)
    return View(
        verdict=diagnosis.verdict,
        reason=words.sentence(diagnosis.reason),
        run=run,
        causes=tuple(_cause(c, rank, diagnosis, record, drawn) for rank, c in enumerate(diagnosis.causes, 1)),
        signs=_signs(diagnosis),
        not_checked=_not_checked(diagnosis, record),
        next=_next(diagnosis, run, _again(record, run)) if record.facts.log is None else _next_of_log(diagnosis),
        charts=drawn,
        heat_maps=heat_maps(record),
        parameters=parameters,
        parameters_left_out=parameters_left_out,
        activations=activations,
        activations_left_out=activations_left_out,
        layers=layers,
        layers_left_out=layers_left_out,
        models=_models(record),
        optimizers=optimizers(record),
        loaders=loaders(record),
        losses=losses(record),
        environment=environment(record),
        run_facts=run_facts(record),
        time=time_shares(record),
        incident=incident.summary(kept) if (kept := record.facts.incident) is not None else "",
        incident_command=f"sickbay incident {run.name}" if kept is not None else "",
        log=log_lines(record),
        trials=tuple(trial_view(t) for t in diagnosis.trials if t not in {c.trial for c in diagnosis.causes}),
    )


def _cause(c: Suspicion, rank: int, diagnosis: Diagnosis, record: Record, drawn: tuple[Chart, ...]) -> CauseView:
    folder = record.facts.run.cwd
    shown_file = words.relative(c.place.file, folder) if c.place and c.place.file else ""
    excerpts = _excerpts(c, record)
    diff = diff_lines(c.fix.diff, shown_file)
    ledger = [e for e in c.evidence if not (c.trial is not None and c.trial.text in e.text)]  # a trial is shown by itself
    return CauseView(
        rank=rank,
        cause=words.clean(c.cause),
        code=words.clean(c.code),
        level=c.level,
        title=words.headline(c.title).rstrip("."),
        certainty=c.certainty,
        confidence=words.percent(c.confidence),
        seen=tuple(_evidence(e, c, folder) for e in ledger if e.kind != "against"),
        against=tuple(_evidence(e, c, folder) for e in ledger if e.kind == "against"),
        why=words.sentence(c.why),
        where=words.place(c.place, folder),
        excerpts=excerpts,
        fix=words.sentence(c.fix.text),
        diff=changed_only(diff) if excerpts else diff,
        replacement=replacement(c.fix.diff),
        safety=c.fix.safety,
        consequences=_consequences(c, diagnosis),
        sure=_sure(c),
        marks=marks(c, rank, diagnosis, record),
        chart=second_chart(c, diagnosis, (chart.key for chart in drawn)),
        trial=trial_view(c.trial) if c.trial is not None else None,
    )


def _evidence(e: Evidence, c: Suspicion, folder: str) -> EvidenceView:
    text = words.sentence(e.text)
    told = e.steps is None or all(str(s) in text.replace(",", "") for s in e.steps)
    own_place = e.place if e.place and (c.place is None or _line(e.place) != _line(c.place)) else None
    where = words.place(own_place, folder)
    return EvidenceView(
        kind=e.kind,
        text=text,
        steps="" if told else words.steps(e.steps),
        where="" if where and where in text else where,
        numbers=() if _DIGIT.search(text) else _numbers(e.numbers),
    )


def _numbers(numbers: Mapping[str, float]) -> tuple[tuple[str, str], ...]:
    return tuple((words.plain(name), words.number(value)) for name, value in numbers.items())


def _line(place: Place) -> tuple[str | None, int | None]:
    return place.file, place.line


def _excerpts(c: Suspicion, record: Record) -> tuple[Excerpt, ...]:
    places = [p for p in (c.place, *(e.place for e in c.evidence if e.kind != "against")) if p]
    found: dict[tuple[str | None, int | None], Excerpt] = {}
    for place in places:
        if _line(place) not in found and (shown := excerpt(place, record.sources, record.facts.run.cwd)):
            found[_line(place)] = shown
    return tuple(found.values())[:EXCERPTS]


def _consequences(c: Suspicion, diagnosis: Diagnosis) -> tuple[str, ...]:
    """The sign's own sentence where there is one sign of that name; a count where there are many."""
    told = []
    known = {s.name for s in diagnosis.signs}
    for name in sorted(c.consequences, key=lambda name: name not in known):
        signs = [s for s in diagnosis.signs if s.name == name]
        if not signs:
            told.append(words.plain(name))
        elif len(signs) == 1:
            told.append(f"{words.plain(name)}: {words.clean(signs[0].text).rstrip('.')}")
        else:
            worst = max(signs, key=lambda s: s.strength)
            told.append(f"{words.plain(name)} in {len(signs)} places, strongest in {words.clean(worst.where or 'the whole run')}")
    return tuple(told)


_KINDS = {"proof": "proof", "strong": "strong sign", "hint": "hint"}


def _sure(c: Suspicion) -> str:
    counts = {kind: sum(e.kind == kind for e in c.evidence) for kind in _KINDS}
    grounds = words.listing(words.count(n, _KINDS[kind]) for kind, n in counts.items() if n) or "no evidence of its own"
    against = [e for e in c.evidence if e.kind == "against"]
    doubt = f"against it: {words.listing(words.clean(e.text).rstrip('.') for e in against)}" if against else "nothing found against it"
    meaning = ", read from the program's own structure and calls without a threshold" if counts["proof"] else ""
    return f"{c.certainty} ({words.percent(c.confidence)}): {grounds}{meaning}; {doubt}."


def _signs(diagnosis: Diagnosis) -> tuple[SignView, ...]:
    return tuple(_sign(sign, diagnosis) for sign in sorted(diagnosis.signs, key=lambda s: -s.strength))


def _sign(sign: Sign, diagnosis: Diagnosis) -> SignView:
    by = next((c.cause for c in diagnosis.causes if sign.name in c.consequences or sign.name in c.explains), "")
    return SignView(
        name=words.clean(sign.name),
        where=words.clean(sign.where or ""),
        steps=words.steps(sign.steps),
        strength=min(1.0, max(0.0, sign.strength)) if math.isfinite(sign.strength) else 0.0,
        text=words.sentence(sign.text),
        numbers=_numbers(sign.numbers),
        explained_by=words.clean(by),
    )


def _not_checked(diagnosis: Diagnosis, record: Record) -> tuple[tuple[str, str], ...]:
    """What shares a reason shares a line."""
    by_why: dict[str, list[str]] = {}
    for item in diagnosis.not_checked:
        by_why.setdefault(words.clean(item.why).rstrip("."), []).append(words.clean(item.what))
    if record.damage:
        by_why[f"the file is damaged: {words.clean('; '.join(record.damage))}"] = ["parts of the record"]
    return tuple((", ".join(dict.fromkeys(whats)), why) for why, whats in by_why.items())


def _again(record: Record, run: RunView) -> str:
    """How to start the script again; empty where its file alone does not say (a module of a package, a notebook's kernel)."""
    script = Path(record.facts.run.script)
    plain = script.suffix == ".py" and "site-packages" not in script.parts and not _exists(script.parent / "__init__.py")
    return run.command if plain else ""


def _next(diagnosis: Diagnosis, run: RunView, again: str) -> tuple[tuple[str, str], ...]:
    if diagnosis.verdict == "untrained":
        return (("sickbay doctor", "says what of this environment works"),)
    if diagnosis.causes:
        first = diagnosis.causes[0]
        explain = (f"sickbay explain {words.clean(first.cause)}", "what it is, how we know, false alarms, fixes")
        curable = first.cause in catalogue() and catalogue()[first.cause].cure
        if curable and not diagnosis.trials and run.folder:
            return ((f"sickbay try {run.name}", "runs the unmodified script again with its cure, and compares"), explain)
        return (explain,)
    if diagnosis.verdict == "undecided" and again:
        return ((f"sickbay checklist {again}", "tries the five usual things"),)
    if run.report and again:
        return ((f"sickbay run --exit-code {again}", "fails when the script turns sick: for CI"),)
    return () if run.report else ((f"sickbay report {run.name} -o report.html", "the curves and layers behind this verdict"),)


def _next_of_log(diagnosis: Diagnosis) -> tuple[tuple[str, str], ...]:
    watched = (("sickbay run train.py", "watches the script itself and sees layers, gradients, data and code"),)
    if diagnosis.causes:
        return ((f"sickbay explain {words.clean(diagnosis.causes[0].cause)}", "what it is, how we know, false alarms, fixes"), *watched)
    return watched if diagnosis.verdict != "healthy" else ()


def _run(diagnosis: Diagnosis, record: Record) -> RunView:
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
    sampled = f"; {facts.sampled_steps:,} of {facts.steps:,} steps sampled in full" if facts.sampled_steps else ""
    return f"Watching cost {spent}{sampled}."


def _loss(record: Record) -> str:
    parts = []
    for name, label in (("loss/train", "train"), ("loss/eval", "validation")):
        series = record.series(name)
        if len(series):
            ends = words.number(series.values[0]), words.number(series.values[-1])
            parts.append(f"{label} {ends[0]} → {ends[1]}" if len(series) > 1 else f"{label} {ends[0]}")
    return ", ".join(parts)


def _models(record: Record) -> str:
    told = []
    for model in record.facts.models:
        total = sum(layer.parameters for layer in model.layers)
        trainable = sum(layer.trainable for layer in model.layers)
        extra = f", {trainable:,} trainable" if trainable != total else ""
        told.append(f"{words.clean(model.name)}: {words.count(total, 'parameter')}{extra}{', compiled' if model.compiled else ''}")
    return "; ".join(told)
