"""memory-leak: a container that grows with every step, and those that only look like it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sickbay.facts import Hoard
from sickbay.record.reader import Record
from sickbay.testing import CauseTestCase, assert_suspects, falling, make_record

SOURCE = """\
gallery = []
for x in loader:
    out = model(x)
    gallery.append(out.detach())
"""
MB = 2**20


def grown(*, rss: tuple[int, int] = (300 * MB, 500 * MB), **known: Any) -> Record:
    usual: dict[str, Any] = {
        "name": "gallery", "first_step": 32, "first": 33, "last_step": 384, "last": 385, "bytes_each": 0.4 * MB, "epochs": 7,
    }  # fmt: skip
    series = {"loss/train": falling(2, 0.1, 400), "memory/rss": ([4, 390], list(map(float, rss)))}
    return make_record(series=series, hoards=[Hoard(**usual | known)], sources={"train.py": SOURCE})


class TestMemoryLeak(CauseTestCase):
    cause = "memory-leak"

    def sick(self) -> Iterable[Record]:
        yield grown()

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "next to no memory", grown(bytes_each=4.0)
        yield "one entry per epoch", grown(first=4, last=11, bytes_each=20 * MB)
        yield "something else grew", grown(bytes_each=0.2 * MB, rss=(300 * MB, 3000 * MB))


def test_the_line_that_adds_to_it() -> None:
    suspicion = assert_suspects(grown(), "memory-leak", "proven")
    assert suspicion.place is not None
    assert suspicion.place.line == 4


def test_without_epochs_nothing_says_that_it_is_let_go() -> None:
    assert_suspects(grown(epochs=0), "memory-leak", "likely")


def test_within_one_epoch_it_may_yet_be_let_go() -> None:
    record = grown(epochs=0)
    one = replace(record, facts=replace(record.facts, run=replace(record.facts.run, epochs=1)))
    assert_suspects(one, "memory-leak", "possible")
