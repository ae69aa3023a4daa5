"""The checklist's rows and what follows from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sickbay.conclude import diagnose
from sickbay.record.reader import Record
from sickbay.supervise.examining import Examined, must
from sickbay.supervise.overfitting import judge
from sickbay.trials.compare import compare, course_of


@dataclass(frozen=True, slots=True)
class Row:
    what: str
    word: str
    text: str
    alarming: bool
    """It asks for something to be done."""


def rows(found: Mapping[str, Examined], treated: Iterable[tuple[str, str]]) -> list[Row]:
    plain = must(found["as-it-is"])
    made = [_treated(what, found.get(treat), plain_of=found["as-it-is"]) for what, treat in treated]
    return [*made, _two_samples(found["two-samples"]), _data(found["as-it-is"]), _whole(diagnose(plain).reason, diagnose(plain).verdict)]


def uses_half(record: Record) -> bool:
    return bool(record.facts.precision.autocast or record.facts.precision.weights)


def _treated(what: str, seen: Examined | None, plain_of: Examined) -> Row:
    plain = must(plain_of)
    if seen is None:
        return Row(what, "NOT NEEDED", "the script uses single precision already", False)
    if seen.record is None:
        return Row(what, "INCONCLUSIVE", seen.trouble, False)
    outcome = compare(course_of(plain), course_of(seen.record))
    better = outcome.effect in ("CURED", "HELPED")
    return Row(what, {"CURED": "BETTER", "HELPED": "BETTER", "HARMED": "WORSE"}.get(outcome.effect, outcome.effect), outcome.text, better)


def _two_samples(seen: Examined) -> Row:
    if seen.record is None:
        return Row("two samples by heart", "INCONCLUSIVE", seen.trouble, False)
    found = judge(seen.record)
    return Row("two samples by heart", found.word, found.text.replace("one batch", "two samples"), found.alarming)


def _data(seen: Examined) -> Row:
    record = must(seen)
    causes = [c for c in diagnose(record).causes if c.level == "data"]
    if causes:
        return Row("the data", "SICK", causes[0].evidence[0].text, True)
    return Row("the data", "WELL", "no NaN, no unscaled input, no sorted or repeated batches were seen", False)


def _whole(reason: str, verdict: str) -> Row:
    return Row("as it is", verdict.upper(), reason, verdict == "sick")


def conclusion(found: Mapping[str, Examined], table: Sequence[Row]) -> str:
    """One sentence: what to do first."""
    diagnosis = diagnose(must(found["as-it-is"]))
    if diagnosis.causes and diagnosis.verdict == "sick":
        first = diagnosis.causes[0]
        return f"First: {first.title} ({first.cause}, {first.certainty}). {first.fix.text[:1].upper()}{first.fix.text[1:]}. `sickbay run` tells the whole story."
    alarming = [row for row in table if row.alarming]
    if any(row.what == "two samples by heart" for row in alarming):
        return "The model cannot even learn two samples by heart: look for a mistake in the model, the loss or the loop before anything else."
    if alarming:
        return f"What helps: {' and '.join(row.what for row in alarming)}."
    return "None of the usual suspects: the script learns, and neither a lower rate nor clipping nor full precision would help."
