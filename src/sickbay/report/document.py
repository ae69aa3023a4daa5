"""The machine's report: one JSON document, versioned, described by `diagnosis.schema.json` and docs/reference/json.md.

The document is always valid JSON. A measured number that is not finite is written as the string "NaN", "Infinity" or
"-Infinity", because that it was not finite is often the very finding.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sickbay.facts import Incident, Ranks, RankSummary
from sickbay.nouns import Diagnosis, Evidence, Place, RunSummary, Sign, Suspicion, Trial
from sickbay.report import words

SCHEMA = "sickbay/diagnosis/1"
SCHEMA_FILE = Path(__file__).with_name("diagnosis.schema.json")


def build(diagnosis: Diagnosis, cwd: str | None = None, incident: Incident | None = None, ranks: Ranks | None = None) -> dict[str, Any]:
    """The document, with what is known of the incident of the run and of its ranks. `cwd` is the folder that the run was started in (`record.facts.run.cwd`); files below it are told
    relative to it. Without it, the current folder is taken, which is the same one right after `sickbay run`."""
    folder = cwd or str(Path.cwd())
    return {
        "schema": SCHEMA,
        "verdict": "undecided" if diagnosis.verdict == "untrained" else diagnosis.verdict,
        "reason": _text(diagnosis.reason),
        "diagnoses": [_suspicion(c, folder) for c in diagnosis.causes],
        "signs": [_sign(s) for s in diagnosis.signs],
        "not_checked": [{"what": _text(n.what), "why": _text(n.why)} for n in diagnosis.not_checked],
        "run": _run(diagnosis.run, folder),
        "incident": _incident(incident, folder),
        "trials": [_trial(t) for t in diagnosis.trials],
        "ranks": _ranks(ranks, folder),
    }


def dumps(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) that every document obeys."""
    loaded: dict[str, Any] = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    return loaded


def _suspicion(c: Suspicion, folder: str) -> dict[str, Any]:
    return {
        "cause": _text(c.cause),
        "code": _text(c.code),
        "level": c.level,
        "certainty": c.certainty,
        "confidence": _share(c.confidence),
        "place": _place(c.place, folder),
        "summary": _text(c.title),
        "why": _text(c.why),
        "evidence": [_evidence(e, folder) for e in c.evidence],
        "fix": {"text": _text(c.fix.text), "diff": _text(c.fix.diff), "safety": c.fix.safety},
        "consequences": [_text(name) for name in c.consequences],
        "trial": _trial(c.trial),
    }


def _trial(trial: Trial | None) -> dict[str, Any] | None:
    if trial is None:
        return None
    return {
        "cause": _text(trial.cause) or None,
        "treatment": _text(trial.treatment),
        "label": _text(trial.label),
        "effect": trial.effect,
        "text": _text(trial.text),
        "size": _finite(trial.size),
        "noise": _finite(trial.noise),
        "steps": int(trial.steps),
        "seconds": _finite(trial.seconds),
        "untreated": [[int(step), _number(value)] for step, value in trial.untreated],
        "treated": [[int(step), _number(value)] for step, value in trial.treated],
        "fenced": [_text(file) for file in trial.fenced],
    }


def _place(place: Place | None, folder: str) -> dict[str, Any]:
    place = place or Place()
    file = words.relative(place.file, folder) if place.file else None
    return {"file": file, "line": place.line, "layer": _optional(place.layer)} | ({"guess": True} if place.guess else {})


def _evidence(e: Evidence, folder: str) -> dict[str, Any]:
    return {
        "kind": e.kind,
        "text": _text(e.text),
        "place": _place(e.place, folder),
        "steps": [int(s) for s in e.steps] if e.steps else None,
        "numbers": _numbers(e.numbers),
    }


def _sign(s: Sign) -> dict[str, Any]:
    return {
        "name": _text(s.name),
        "where": _optional(s.where),
        "steps": [int(step) for step in s.steps],
        "strength": _share(s.strength),
        "numbers": _numbers(s.numbers),
        "text": _text(s.text),
    }


def _run(run: RunSummary, folder: str) -> dict[str, Any]:
    return {
        "name": _text(run.name),
        "folder": _optional(run.folder),
        "script": words.relative(run.script, folder),
        "steps": int(run.steps),
        "epochs": int(run.epochs),
        "seconds": _finite(run.seconds),
        "overhead": _finite(run.overhead),
        "exit": int(run.exit) if isinstance(run.exit, int) else _optional(run.exit),
    }


def _incident(incident: Incident | None, folder: str) -> dict[str, Any] | None:
    """Statistics only: the samples stay in the incident's own file."""
    if incident is None:
        return None
    return {
        "kind": _text(incident.kind),
        "step": int(incident.step),
        "operation": (_text(incident.first.op) or None) if incident.first is not None else None,
        "place": _place(incident.first.place if incident.first is not None else None, folder),
        "file": _text(incident.file) or None,
        "bytes": int(incident.bytes),
        "kept": [_text(part.part) for part in incident.kept],
        "missing": [{"what": _text(part.part), "why": _text(part.why)} for part in incident.missing],
    }


def _ranks(ranks: Ranks | None, folder: str) -> dict[str, Any] | None:
    """Of a distributed run: each rank, and what their records show side by side."""
    if ranks is None:
        return None
    weights, rows = ranks.weights, ranks.rows
    return {
        "world_size": int(ranks.world_size),
        "shown": int(ranks.read),
        "because": _text(ranks.because) or None,
        "missing": [int(r) for r in ranks.missing],
        "attempts": int(ranks.attempts),
        "weights_compared": [int(s) for s in weights.steps] if weights is not None else None,
        "weights_differ": [int(s) for s in weights.differ] if weights is not None else None,
        "batches_compared": int(rows.batches) if rows is not None else None,
        "batches_in_common": int(rows.same) if rows is not None else None,
        "all": [_rank(s, folder) for s in ranks.all],
    }


def _rank(s: RankSummary, folder: str) -> dict[str, Any]:
    return {
        "rank": int(s.rank),
        "record": _text(s.record),
        "host": _text(s.host),
        "steps": int(s.steps),
        "finished": bool(s.finished),
        "crash": _text(s.crash) or None,
        "message": _text(s.message) or None,
        "place": _place(s.crash_at, folder),
        "first_not_finite": None if s.broken_step is None else {"step": int(s.broken_step), "what": _text(s.broken)},
        "seconds_per_step": {"loading": _finite(s.loading), "forward": _finite(s.forward), "rest": _finite(s.rest), "waiting": _finite(s.waiting)},
    }


def _text(text: str) -> str:
    """JSON can hold any text but lone surrogates, which UTF-8 cannot."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _optional(text: str | None) -> str | None:
    return None if text is None else _text(text)


def _numbers(numbers: Mapping[str, float]) -> dict[str, float | str]:
    return {_text(name): _number(float(value)) for name, value in numbers.items()}


def _number(value: float) -> float | str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _share(value: float) -> float:
    return min(1.0, max(0.0, float(value))) if math.isfinite(value) else 0.0
