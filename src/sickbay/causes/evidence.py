"""Lines for a suspicion's ledger, and the small words that their sentences are made of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from sickbay.nouns import Evidence, EvidenceKind, Place, Sign


def proof(text: str, place: Place | None = None, steps: tuple[int, int] | None = None, **numbers: float) -> Evidence:
    """Structural evidence: certain, needs no threshold."""
    return _evidence("proof", text, place, steps, numbers)


def strong(text: str, place: Place | None = None, steps: tuple[int, int] | None = None, **numbers: float) -> Evidence:
    """Evidence that hardly anything else would give."""
    return _evidence("strong", text, place, steps, numbers)


def hint(text: str, place: Place | None = None, steps: tuple[int, int] | None = None, **numbers: float) -> Evidence:
    """Evidence that fits, but fits other things too."""
    return _evidence("hint", text, place, steps, numbers)


def against(text: str, place: Place | None = None, steps: tuple[int, int] | None = None, **numbers: float) -> Evidence:
    """Evidence that speaks against the cause."""
    return _evidence("against", text, place, steps, numbers)


def _evidence(kind: EvidenceKind, text: str, place: Place | None, steps: tuple[int, int] | None, numbers: dict[str, float]) -> Evidence:
    return Evidence(kind, text, place, steps, {k: float(v) for k, v in numbers.items()})


def from_sign(kind: EvidenceKind, sign: Sign, place: Place | None = None) -> Evidence:
    """A sign as a line in the ledger."""
    return Evidence(kind, sign.text, place, sign.steps, dict(sign.numbers))


def at(place: Place | None) -> str:
    """ "train.py:31", the layer where there is no file, or "" if neither is known."""
    if place is None:
        return ""
    if place.file and place.line:
        return f"{PurePath(place.file).name}:{place.line}"
    return place.layer or ""


def located(place: Place | None, preposition: str = " at") -> str:
    """ " at train.py:31", or nothing; ", probably at" a line that was chosen by reading the script."""
    likely = ", probably" if place is not None and place.guess else ""
    return f"{likely}{preposition} {at(place)}" if at(place) else ""


def listed(names: Sequence[str], most: int = 4) -> str:
    """ "a, b, c and 12 more"."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def shape(dimensions: Sequence[int]) -> str:
    """ "(64, 1)", as PyTorch prints it."""
    return f"({', '.join(map(str, dimensions))}{',' if len(dimensions) == 1 else ''})"


def times(count: int, noun: str) -> str:
    """ "1 step", "12 steps"; of "pass", "passes"."""
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def first_place(evidence: Sequence[Evidence]) -> Place | None:
    """The place of the best line that has one."""
    for kind in ("proof", "strong", "hint"):
        for e in evidence:
            if e.kind == kind and e.place is not None:
                return e.place
    return None
