"""One plain view of a diagnosis: strings and numbers, already formatted. All renderers draw this and nothing else.

Diagnosis + Record -> View -> terminal, html, notebook
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

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
from sickbay.report.ranks import rank_line, rank_table
from sickbay.report.run_view import RunView, next_commands, run_view
from sickbay.report.tables import Table, environment, loaders, losses, optimizers, run_facts
from sickbay.report.trials import TrialView, trial_view

EXCERPTS = 3
NO_TABLE = Table((), ())
_DIGIT = re.compile(r"(?<![\w.])\d")
"""A number in a sentence, other than one in a name such as conv1."""


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
    ranks: str = ""
    """Of a distributed run: how many ranks there were, which one is shown, and what became of the others,"""
    rank_table: Table = NO_TABLE
    """...one by one."""
    trials: tuple[TrialView, ...] = ()
    """What was tried besides the cures of the causes shown."""


def build(diagnosis: Diagnosis, record: Record) -> View:
    """Everything a report shows, for every kind of report."""
    drawn = charts(record)
    parameters, parameters_left_out = parameter_rows(record)
    activations, activations_left_out = activation_rows(record)
    layers, layers_left_out = layer_rows(record)
    run = run_view(diagnosis, record)
    return View(
        verdict=diagnosis.verdict,
        reason=words.sentence(diagnosis.reason),
        run=run,
        causes=tuple(_cause(c, rank, diagnosis, record, drawn) for rank, c in enumerate(diagnosis.causes, 1)),
        signs=_signs(diagnosis),
        not_checked=_not_checked(diagnosis, record),
        next=next_commands(diagnosis, run, record),
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
        ranks=rank_line(record),
        rank_table=rank_table(record),
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


def _models(record: Record) -> str:
    told = []
    for model in record.facts.models:
        total = sum(layer.parameters for layer in model.layers)
        trainable = sum(layer.trainable for layer in model.layers)
        extra = f", {trainable:,} trainable" if trainable != total else ""
        told.append(f"{words.clean(model.name)}: {words.count(total, 'parameter')}{extra}{', compiled' if model.compiled else ''}")
    return "; ".join(told)
