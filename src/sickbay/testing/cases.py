"""The conformance tests of a cause: documented, sure of the sick, silent on the look-alikes, with a fix that can be shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from sickbay.causes import find
from sickbay.conclude import suspect
from sickbay.nouns import LEVELS, Certainty, Suspicion
from sickbay.record.reader import Record
from sickbay.signs import read_signs

T = TypeVar("T")

HEADINGS = ("## What happens", "## How we know", "## Looks like it but is not", "## Fix", "## References")
"""The sections that every cause's documentation has, in this order."""


def suspicion_of(record: Record, cause: str) -> Suspicion | None:
    """What one cause makes of a record, before ranking and folding."""
    return suspect(find(cause), record, read_signs(record))


def assert_suspects(record: Record, cause: str, certainty: Certainty | None = None) -> Suspicion:
    """The cause is suspected (with this certainty); returns the suspicion."""
    suspicion = suspicion_of(record, cause)
    assert suspicion is not None, f"{cause} is not suspected"
    assert certainty in (None, suspicion.certainty), f"{cause} is {suspicion.certainty}, not {certainty}: {[e.text for e in suspicion.evidence]}"
    return suspicion


def assert_silent(record: Record, cause: str, why: str = "") -> None:
    """The cause is not suspected at all."""
    suspicion = suspicion_of(record, cause)
    assert suspicion is None, f"{cause} is {suspicion.certainty} on a look-alike ({why}): {[e.text for e in suspicion.evidence]}"


class CauseTestCase:
    """Subclass, set `cause`, and give `sick` and `look_alikes`; pytest finds the tests."""

    cause: str
    certainty: Certainty = "proven"

    def sick(self) -> Iterable[Record]:
        """Records on which the cause must be found."""
        raise NotImplementedError

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        """Healthy (or otherwise sick) records that look like it, each with a word on why they are not."""
        raise NotImplementedError

    def test_it_is_documented(self) -> None:
        cause = find(self.cause)
        positions = [cause.doc.find(h) for h in HEADINGS]
        assert -1 not in positions and positions == sorted(positions), f"{self.cause} lacks a heading, or has them in another order"
        assert cause.level in LEVELS and cause.title and cause.why.endswith(".")

    def test_sick_runs_are_found(self) -> None:
        for record in self._some(self.sick()):
            suspicion = assert_suspects(record, self.cause, self.certainty)
            assert all(e.text for e in suspicion.evidence)
            assert suspicion.fix.text

    def test_look_alikes_are_not(self) -> None:
        for why, record in self._some(self.look_alikes()):
            assert_silent(record, self.cause, why)

    @staticmethod
    def _some(items: Iterable[T]) -> Iterator[T]:
        count = 0
        for count, item in enumerate(items, start=1):  # noqa: B007
            yield item
        assert count, "give at least one record"
