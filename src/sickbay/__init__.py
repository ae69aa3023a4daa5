"""sickbay finds out why a PyTorch training run is sick, proves it, and says how to cure it.

On the command line: `sickbay run train.py`. In a notebook or a loop of your own:

    with sickbay.watch(model, optimizer) as patient:
        ...
    patient.diagnosis

Importing this imports neither torch nor anything else that is heavy: every name below is loaded when first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than everything here
if TYPE_CHECKING:
    from typing import Any

    from sickbay.causes import catalogue as catalogue
    from sickbay.clip_advice import suggest_clip as suggest_clip
    from sickbay.conclude import diagnose as diagnose
    from sickbay.errors import SickbayError as SickbayError
    from sickbay.exams.evaluate import evaluate as evaluate
    from sickbay.exams.forgetting import forgetting as forgetting
    from sickbay.exams.overfit import overfit as overfit
    from sickbay.exams.repeatable import deterministic as deterministic
    from sickbay.exams.skew import skew as skew
    from sickbay.incidents import load_incident as load_incident
    from sickbay.nouns import Diagnosis as Diagnosis
    from sickbay.nouns import Evidence as Evidence
    from sickbay.nouns import Place as Place
    from sickbay.nouns import Sign as Sign
    from sickbay.nouns import Suspicion as Suspicion
    from sickbay.observe.watching import watch as watch
    from sickbay.record.reader import Record as Record
    from sickbay.runs import open_run as open_run
    from sickbay.scans import ScanResult as ScanResult
    from sickbay.scans import scan as scan
    from sickbay.settings import Settings as Settings

__version__ = "0.1.0"

_HOMES = {
    "watch": "sickbay.observe.watching",
    "overfit": "sickbay.exams.overfit",
    "evaluate": "sickbay.exams.evaluate",
    "skew": "sickbay.exams.skew",
    "forgetting": "sickbay.exams.forgetting",
    "deterministic": "sickbay.exams.repeatable",
    "scan": "sickbay.scans",
    "ScanResult": "sickbay.scans",
    "diagnose": "sickbay.conclude",
    "open_run": "sickbay.runs",
    "load_incident": "sickbay.incidents",
    "suggest_clip": "sickbay.clip_advice",
    "catalogue": "sickbay.causes",
    "Record": "sickbay.record.reader",
    "Diagnosis": "sickbay.nouns",
    "Suspicion": "sickbay.nouns",
    "Evidence": "sickbay.nouns",
    "Sign": "sickbay.nouns",
    "Place": "sickbay.nouns",
    "Settings": "sickbay.settings",
    "SickbayError": "sickbay.errors",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'sickbay' has no attribute {name!r}; it has {', '.join(__all__)}")
    import importlib

    value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
