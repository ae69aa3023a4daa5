"""What loaders deliver for which indices: workers that share a generator, and everything that only looks like it."""

from __future__ import annotations

import pytest
import torch

from observe.conftest import WatchScript
from sickbay.facts import Deliveries as Told
from sickbay.observe.deliveries import Deliveries
from sickbay.testing import suspicion_of

SCRIPT = """
import numpy as np
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

class Made(Dataset):
    def __init__(self):
        self.rng = np.random.default_rng(0)
        self.kept = torch.randn(64, 3, generator=torch.Generator().manual_seed(0))

    def __len__(self):
        return 64

    def __getitem__(self, index):
        ITEM

class Stream(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        for i in range(START, 64, STEP):
            yield torch.full((3,), float(i))

def own_generator(_):
    get_worker_info().dataset.rng = np.random.default_rng(torch.initial_seed())

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loader = DataLoader(DATA)
for epoch in range(3):
    for x in loader:
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        optimizer.step()
"""
DRAWN = "return torch.from_numpy(self.rng.normal(size=3)).float()"
CHANGED = "return self.kept[index] + torch.from_numpy(self.rng.normal(size=3)).float()"


def told(script: WatchScript, item: str = DRAWN, data: str = "Made(), 4, num_workers=2", start: str = "0", step: str = "1") -> tuple[Told, bool]:
    run = script(SCRIPT.replace("ITEM", item).replace("DATA", data).replace("START", start).replace("STEP", step))
    delivered = run.facts.loaders[0].delivered
    assert delivered is not None
    return delivered, suspicion_of(run.record, "repeated-batches") is not None


@pytest.mark.parametrize(
    "data", ["Made(), 4, num_workers=2", "Made(), 4, num_workers=2, shuffle=True", "Made(), 4, num_workers=2, persistent_workers=True"]
)
def test_workers_that_make_the_same_samples(script: WatchScript, data: str) -> None:
    delivered, suspected = told(script, data=data)
    assert (delivered.run, delivered.seen, delivered.alike) == (2, 48, 24) and suspected


def test_one_worker_begins_anew_in_each_epoch(script: WatchScript) -> None:
    shuffled, suspected = told(script, data="Made(), 4, num_workers=1, shuffle=True")
    assert (shuffled.period, shuffled.moved, suspected) == (16, 32, True)


def test_an_index_that_nobody_reads(script: WatchScript) -> None:
    delivered, suspected = told(script, data="Made(), 4, num_workers=1")
    assert (delivered.period, delivered.moved, suspected) == (16, 0, True)


def test_a_stream_that_every_worker_gives_as_a_whole(script: WatchScript) -> None:
    delivered, suspected = told(script, data="Stream(), 4, num_workers=2")
    assert (delivered.run, suspected) == (2, True)


@pytest.mark.parametrize(
    ("item", "data"),
    [
        ("return self.kept[index]", "Made(), 4, num_workers=2"),
        ("return self.kept[index]", "Made(), 4, num_workers=1, shuffle=True"),
        ("return self.kept[index % 16]", "Made(), 4, num_workers=2"),
        ("return self.kept[index // 2]", "Made(), 4, num_workers=2"),
        ("return self.kept[index]", "Made(), 4, num_workers=2, sampler=[i // 4 % 2 + i // 8 * 4 for i in range(64)]"),
        ("return self.kept[index]", "Made(), batch_sampler=[b for n in range(16) for b in 2 * [[n, n + 1, n + 2, n + 3]]], num_workers=2"),
        ("return torch.zeros(3)", "Made(), 4, num_workers=2"),
        ("return torch.from_numpy(np.random.default_rng(index).normal(size=3)).float()", "Made(), 4, num_workers=1"),
        (DRAWN, "Made(), 4, num_workers=2, worker_init_fn=own_generator"),
        (DRAWN, "Made(), 4"),
        ("return torch.randn(3)", "Made(), 4, num_workers=2"),
        ("return self.kept[index]", "Made(), 4, sampler=torch.utils.data.RandomSampler(range(64), replacement=True), num_workers=2"),
    ],
)
def test_look_alikes(script: WatchScript, item: str, data: str) -> None:
    assert not told(script, item, data)[1]


def test_a_stream_that_is_divided(script: WatchScript) -> None:
    assert not told(script, data="Stream(), 4, num_workers=2", start="info.id", step="2")[1]


def test_epochs_cut_the_last_batches_short() -> None:
    watch = Deliveries()
    for _ in range(3):
        watch.begin()
        for n in range(10):
            watch.add(torch.full((4, 3), float(n // 4)), [4 * n, 4 * n + 1, 4 * n + 2, 4 * n + 3])
    fact = watch.fact()
    assert fact is not None and fact.run == 4
