from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from causes.scripts import added
from sickbay.facts import LabelOrder, Loader
from sickbay.record.reader import Record
from sickbay.testing import CauseTestCase, assert_suspects, make_record, place_in

SOURCE = """\
train_loader = DataLoader(train_set, batch_size=32)
for epoch in range(3):
    for ids in torch.arange(len(y)).split(32):
        out = model(x[ids])
"""
SORTED = {
    "classes": 10, "batches": 40, "batch_size": 32.0, "distinct_mean": 1.2, "distinct_expected": 9.6, "majority_mean": 0.95,
    "majority_expected": 0.2, "run_length": 140.0, "run_length_expected": 1.1, "sequential_sampler": True, "loader": 0,
}  # fmt: skip


def labels(**changes: Any) -> Record:
    loader = Loader(index=0, role="train", sequential=True, built_at=place_in(SOURCE, "DataLoader"))
    return make_record(steps=100, labels=LabelOrder(**SORTED | changes), loaders=[loader], sources={"train.py": SOURCE})


class TestUnshuffledData(CauseTestCase):
    cause = "unshuffled-data"

    def sick(self) -> Iterable[Record]:
        yield labels()
        yield labels(sequential_sampler=None, same_order_each_epoch=True, loader=None)
        yield labels(sequential_sampler=None, same_order_each_epoch=False, loader=None, batches=500)
        yield labels(classes=2, distinct_mean=1.03, distinct_expected=2.0, majority_mean=0.98, majority_expected=0.57, run_length_expected=2.0)
        yield labels(classes=0, ascending_share=1.0, same_order_each_epoch=True, sequential_sampler=None)

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "shuffled", labels(sequential_sampler=False, run_length=1.1, distinct_mean=9.5, majority_mean=0.2)
        yield "read in order, but mixed when stored", labels(run_length=1.2, distinct_mean=9.4, majority_mean=0.21)
        yield "few classes per batch by a random sampler", labels(sequential_sampler=False, run_length=8.0, majority_mean=0.5)
        yield "tasks one after the other, each once", labels(sequential_sampler=None, same_order_each_epoch=False)
        one_label = {"classes": 2, "run_length": 32.0, "majority_mean": 1.0, "majority_expected": 0.57, "run_length_expected": 2.0, "batches": 500}
        yield "real and fake batches in turn", labels(sequential_sampler=None, same_order_each_epoch=False, loader=None, **one_label)
        yield "one batch per epoch", labels(distinct_mean=10.0, majority_mean=0.1, majority_expected=0.1)
        yield "a time series of numbers", labels(classes=0, ascending_share=0.56)
        yield "too few batches", labels(batches=2)
        yield "no labels", make_record(steps=100)


def test_an_order_seen_only_once_is_merely_possible() -> None:
    assert_suspects(labels(sequential_sampler=None, loader=None), "unshuffled-data", "possible")


def test_the_fix_shuffles_the_loader() -> None:
    diff = assert_suspects(labels(), "unshuffled-data").fix.diff
    assert added(diff) == ["train_loader = DataLoader(train_set, batch_size=32, shuffle=True)"]


def test_the_fix_draws_a_random_order() -> None:
    record = labels(sequential_sampler=None, same_order_each_epoch=True, loader=None, place=place_in(SOURCE, "model(x[ids])"))
    assert added(assert_suspects(record, "unshuffled-data").fix.diff) == ["    for ids in torch.randperm(len(y)).split(32):"]


READER = """\
import random

class Shards(IterableDataset):
    def __iter__(self):
        todo = list(self.files)
        for path in todo:
            yield from read(path)

loader = DataLoader(Shards(), batch_size=32)
"""


def stream(source: str, **changes: Any) -> Record:
    loader = Loader(
        index=0, role="train", stream=True, dataset="Shards", item_at=place_in(source, "__iter__"), built_at=place_in(source, "DataLoader")
    )
    order = LabelOrder(**SORTED | {"sequential_sampler": None, "same_order_each_epoch": True} | changes)
    return make_record(steps=100, labels=order, loaders=[loader], sources={"train.py": source})


def test_of_a_stream_the_order_is_drawn_where_it_is_read() -> None:
    found = assert_suspects(stream(READER), "unshuffled-data", "proven")
    assert found.place is not None
    assert found.place.text == "todo = list(self.files)"
    assert added(found.fix.diff) == ["        random.shuffle(todo)"]


def test_shards_in_random_order_that_hold_one_class_each() -> None:
    assert_suspects(stream(READER, same_order_each_epoch=False, batches=500), "unshuffled-data", "proven")


def test_of_a_stream_that_sorts_as_it_goes() -> None:
    source = READER.replace("        todo = list(self.files)\n", "").replace("in todo", "in sorted(self.files)")
    found = assert_suspects(stream(source), "unshuffled-data")
    assert found.place is not None
    assert found.place.text == "for path in sorted(self.files):"
    assert added(found.fix.diff) == ["        for path in random.sample(sorted(self.files), k=len(sorted(self.files))):"]


def test_a_file_that_is_read_from_front_to_back_gets_advice() -> None:
    found = assert_suspects(stream(READER.replace("list(self.files)", "open(self.path)")), "unshuffled-data")
    assert found.fix.safety == "advice"
    assert "shuffle=True" not in found.fix.diff
