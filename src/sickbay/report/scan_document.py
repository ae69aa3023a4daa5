"""The machine's report of a scan: one JSON document, versioned, described by `scan.schema.json` and docs/scan.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sickbay.facts.scan import Finding, LoaderSeen, Scan, TensorSeen
from sickbay.nouns import Place
from sickbay.report import words
from sickbay.report.document import dumps
from sickbay.report.scan_page import loaders, verdict

SCHEMA = "sickbay/scan/1"
SCHEMA_FILE = Path(__file__).with_name("scan.schema.json")
VERDICTS = {"SICK": "sick", "HEALTHY": "healthy", "STOPPED": "undecided"}

__all__ = ["SCHEMA", "build", "dumps", "schema"]


def build(scan: Scan, findings: tuple[Finding, ...], *, samples: bool = False) -> dict[str, Any]:
    word, _, text = verdict(scan, findings)
    return {
        "schema": SCHEMA,
        "verdict": VERDICTS[word],
        "reason": words.sentence(text),
        "findings": [_finding(f, samples) for f in findings],
        "loaders": [_loader(x) for x in loaders(scan)],
        "not_checked": [{"what": words.clean(n.what), "why": words.clean(n.why)} for n in scan.not_checked],
        "seconds": round(scan.seconds, 3),
    }


def schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) that every such document obeys."""
    loaded: dict[str, Any] = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    return loaded


def _finding(f: Finding, samples: bool) -> dict[str, Any]:
    return {
        "cause": f.cause,
        "code": f.code or None,
        "certainty": f.certainty,
        "wrong": f.wrong,
        "loader": f.loader,
        "title": words.clean(f.title),
        "text": words.clean(f.text),
        "indices": list(f.indices),
        "indices_are": "positions" if f.positions else "data set",
        "tensor": words.clean(f.tensor) or None,
        "columns": list(f.columns),
        "place": _place(f.place),
        "fix": {"text": words.clean(f.fix), "diff": words.clean(f.diff)},
        "details": [words.clean(line) for line in f.details] if samples else [],
    }


def _place(place: Place | None) -> dict[str, Any] | None:
    if place is None or not place.file:
        return None
    return {"file": words.relative(place.file, str(Path.cwd())), "line": place.line}


def _loader(x: LoaderSeen) -> dict[str, Any]:
    return {
        "name": x.name,
        "kind": x.kind,
        "dataset": x.loader.dataset or None,
        "sampler": x.loader.sampler or None,
        "samples": x.rows,
        "batches": x.batches,
        "batch_size": x.batch_size,
        "last_batch": x.last_batch,
        "workers": x.loader.workers,
        "pinned": x.pinned,
        "same_order": x.same_order,
        "failed": x.failed,
        "ended_by": x.ended_by or None,
        "resumed_at": x.resumed_at,
        "target": x.target or None,
        "classes": [list(pair) for pair in x.histogram],
        "tensors": [_tensor(t) for t in x.tensors],
        "seconds": {"loading": round(x.waited, 3), "looking": round(x.own, 3)},
    }


def _tensor(t: TensorSeen) -> dict[str, Any]:
    measured = t.scale is not None and t.kind not in ("text", "object")
    return {
        "name": words.clean(t.name),
        "role": t.role,
        "kind": t.kind,
        "dtype": t.dtype,
        "shape": list(t.shape),
        "shapes": t.shapes,
        "minimum": t.minimum,
        "maximum": t.maximum,
        "mean": t.scale.mean if measured and t.scale is not None else None,
        "std": t.scale.std if measured and t.scale is not None else None,
        "nan": t.nan,
        "infinite": t.infinite,
        "constant_columns": list(t.constant),
    }
