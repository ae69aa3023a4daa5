"""An evaluation as a JSON document, versioned, described by `evaluation.schema.json` and docs/evaluation.md."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sickbay.facts.evaluated import Evaluated
from sickbay.report import evaluation_words as said
from sickbay.report import words

SCHEMA = "sickbay/evaluation/1"
SCHEMA_FILE = Path(__file__).with_name("evaluation.schema.json")


def build(e: Evaluated) -> dict[str, Any]:
    """What is not known, or not a number, is null."""
    found: dict[str, Any] = plain(asdict(e))
    for pair, c in zip(found["confused"], e.confused, strict=True):
        pair["share"] = c.share
    return {"schema": SCHEMA, "statement": words.sentence(said.statement(e)), **found}


def schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) that every document obeys."""
    loaded: dict[str, Any] = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    return loaded


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return words.clean(value) if isinstance(value, str) else value
