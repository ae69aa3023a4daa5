"""memory-leak: a container that grows with every step, and those that only look like it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from sickbay.facts import Hoard
from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.testing import CauseTestCase, assert_suspects, falling, make_record

SOURCE = """\
gallery = []
for x in loader:
    out = model(x)
    gallery.append(out.detach())
"""
BUFFER = SOURCE + "    if len(gallery) > 50_000:\n        gallery.pop(0)\n"
CACHED = """\
import functools

@functools.lru_cache(maxsize=None)
def spectrum(wave):
    return torch.stft(wave, 128)
"""
HOOKED = """\
maps = {}
def watch(model):
    maps = []
    def hook(module, inputs, output):
        maps.append(output)
    model.register_forward_hook(hook)
"""
MB = 2**20


def grown(*, rss: tuple[int, int] = (300 * MB, 500 * MB), source: str = SOURCE, **known: Any) -> Record:
    usual: dict[str, Any] = {
        "name": "gallery", "first_step": 32, "first": 33, "last_step": 384, "last": 385, "bytes_each": 0.4 * MB, "epochs": 7,
    }  # fmt: skip
    series = {"loss/train": falling(2, 0.1, 400), "memory/rss": ([4, 384], list(map(float, rss)))}
    return make_record(series=series, hoards=[Hoard(**usual | known)], sources={"train.py": source})


class TestMemoryLeak(CauseTestCase):
    cause = "memory-leak"

    def sick(self) -> Iterable[Record]:
        yield grown()

        yield grown(name="spectrum", kind="cache", count=385)
        yield grown(name="maps", kind="hook", count=8)

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "a buffer that is not full yet", grown(source=BUFFER)
        yield "next to no memory", grown(bytes_each=4.0)
        yield "one entry per epoch", grown(first=4, last=11, bytes_each=20 * MB)
        yield "something else grew", grown(bytes_each=0.2 * MB, rss=(300 * MB, 3000 * MB))


def test_the_line_that_adds_to_it() -> None:
    suspicion = assert_suspects(grown(), "memory-leak", "proven")
    assert suspicion.place is not None
    assert suspicion.place.line == 4


def test_without_epochs_nothing_says_that_it_is_let_go() -> None:
    assert_suspects(grown(epochs=0), "memory-leak", "likely")


def test_lists_that_grow_alike_are_told_together() -> None:
    suspicion = assert_suspects(grown(alike=2), "memory-leak", "proven")
    assert "and 2 others that grow with it hold about 154 MB of tensors" in suspicion.evidence[0].text


def test_within_one_epoch_it_may_yet_be_let_go() -> None:
    record = grown(epochs=0)
    one = replace(record, facts=replace(record.facts, run=replace(record.facts.run, epochs=1)))
    assert_suspects(one, "memory-leak", "possible")


def test_a_cache_is_told_by_its_function() -> None:
    record = grown(name="spectrum", kind="cache", count=385, place=Place("train.py", 3), source=CACHED)
    suspicion = assert_suspects(record, "memory-leak", "proven")
    assert suspicion.place is not None
    assert suspicion.place.line == 3
    assert suspicion.fix is not None
    assert "-@functools.lru_cache(maxsize=None)" in suspicion.fix.diff


def test_the_line_in_the_hook_that_fills_it() -> None:
    record = grown(name="maps", kind="hook", count=8, place=Place("train.py", 4), source=HOOKED)
    suspicion = assert_suspects(record, "memory-leak", "proven")
    assert suspicion.place is not None
    assert suspicion.place.line == 5
    assert any("registered 8 times" in e.text for e in suspicion.evidence)


def test_what_is_waited_for_before_a_sample_is_drawn_is_no_bound() -> None:
    source = SOURCE + "    if len(gallery) >= 64:\n        learn(gallery)\n"
    assert_suspects(grown(source=source), "memory-leak", "proven")


@pytest.mark.parametrize(
    "line", ["gallery[i] = out.detach()", "gallery += [out]", "gallery = torch.cat([gallery, out])", "hook(lambda m, i, o: gallery.append(o))"]
)
def test_ways_of_adding(line: str) -> None:
    suspicion = assert_suspects(grown(source=f"for i, x in enumerate(loader):\n    {line}\n"), "memory-leak")
    assert suspicion.place is not None
    assert suspicion.place.line == 2
