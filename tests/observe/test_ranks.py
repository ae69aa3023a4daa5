"""What a rank notes of itself. The process is told that it is one of two; nothing is ever sent."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.distributed.algorithms.join import Join

from observe.conftest import WatchScript
from observe.watched import exact, watching
from sickbay.observe.governor import Governor
from sickbay.observe.rank_rows import SKETCH, RankRows, keys_of
from sickbay.observe.ranks import RankWatch
from sickbay.observe.weight_prints import due, plain, prints
from sickbay.record.reader import read_record

TRAIN = """
data = torch.utils.data.TensorDataset(torch.randn(80, 6), torch.randn(80, 1))
sampler = torch.utils.data.distributed.DistributedSampler(data, num_replicas=2, rank=1, seed=4)
loader = torch.utils.data.DataLoader(data, batch_size=8, sampler=sampler)
model = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for x, y in loader:
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
"""


@pytest.fixture
def second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")


@pytest.fixture
def group() -> Iterator[None]:
    """A group of this process alone."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    before = dict(os.environ)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.distributed.init_process_group("gloo", rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.usefixtures("second")
def test_a_rank_tells_who_it_is_and_what_it_saw(script: WatchScript) -> None:
    run = script(TRAIN)
    rank = run.facts.rank
    assert (rank.rank, rank.world_size, rank.joined, rank.wrapper) == (1, 2, False, "")
    assert (rank.shard.kind, rank.shard.replicas, rank.shard.rank, rank.shard.seed) == ("DistributedSampler", 2, 1, 4)
    assert rank.shard.epochs == (0, 0, 0)
    assert len(set(rank.shard.orders)) == 1
    assert len(rank.rows) == 15
    assert rank.rows[:5] == rank.rows[5:10] == rank.rows[10:]
    assert rank.rows_seen == 40
    family = run.record.family("weight_print")
    assert list(family.steps) == [0, 1, 2, 4, 8]
    assert family.names == ("0.weight", "0.bias", "2.weight", "2.bias")


def test_a_process_that_is_alone_notes_nothing(script: WatchScript) -> None:
    run = script(TRAIN)
    assert run.facts.rank is None
    assert not len(run.record.family("weight_print").steps)


@pytest.mark.usefixtures("second", "group")
def test_collectives_by_what_they_are_given(script: WatchScript) -> None:
    run = script("""
import torch.distributed as dist
model = nn.Linear(4, 3)
late = nn.Linear(3, 1)
for p in model.parameters():
    dist.broadcast(p.data, 0)
optimizer = torch.optim.SGD([*model.parameters(), *late.parameters()], lr=0.1)
for step in range(6):
    loss = late(model(torch.randn(8, 4))).square().mean()
    optimizer.zero_grad()
    loss.backward()
    for p in model.parameters():
        dist.all_reduce(p.grad)
    optimizer.step()
    for p in late.parameters():
        dist.all_reduce(p.grad.data)
    dist.all_reduce(loss.detach())
    dist.barrier()
    if step == 3:
        for p in model.parameters():
            dist.all_reduce(p.data)
""")
    assert run.facts.rank.collectives == {"first weights": 2, "gradients": 12, "late gradients": 12, "other": 6, "weights": 2}
    assert run.at(run.facts.rank.collective_at["late gradients"], "dist.all_reduce(p.grad.data)")
    assert len(run.record.series("time/collectives")) == 6


@pytest.mark.usefixtures("second", "group")
def test_collectives_inside_a_forward_pass(script: WatchScript) -> None:
    run = script("""
import torch.distributed as dist
class Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clone()
        dist.all_reduce(y)
        return y
    @staticmethod
    def backward(ctx, g):
        g = g.clone()
        dist.all_reduce(g)
        return g
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 2)
    def forward(self, x):
        return Sum.apply(self.a(x))
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
""")
    assert run.facts.rank.collectives == {"forward": 6}


def train_in_a_group() -> list[bytes]:
    """Comes by every moment of a rank: a group (of this process alone), a wrapper, a collective, Join."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{s.getsockname()[1]}"
    torch.distributed.init_process_group("gloo", init_method=address, rank=0, world_size=1)
    try:
        torch.manual_seed(5)
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.2), torch.nn.Linear(8, 1)))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        losses = []
        with Join([model]):
            for _ in range(6):
                loss = model(torch.randn(8, 4)).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
        total = torch.tensor(losses)
        torch.distributed.all_reduce(total)
        return [total.numpy().tobytes(), *(p.detach().numpy().tobytes() for p in model.parameters()), torch.get_rng_state().numpy().tobytes()]
    finally:
        torch.distributed.destroy_process_group()


@pytest.mark.parametrize("moment", ["group_joined", "wrapped", "collective", "uneven_expected"])
def test_what_fails_among_ranks_is_contained(moment: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plain = train_in_a_group()
    calls: list[int] = []

    def fails(*_: object) -> None:
        calls.append(1)
        raise ZeroDivisionError("injected")

    monkeypatch.setattr(RankWatch, moment, fails)
    with watching(tmp_path / "run.sickbay", exact()) as session:
        assert train_in_a_group() == plain
    assert len(calls) == 1
    assert "ranks" not in {o.name for o in session.observers}
    record = read_record(tmp_path / "run.sickbay")
    (event,) = record.events("observer-failed")
    assert (event.data["observer"], event.data["moment"]) == ("ranks", moment)
    assert len(record.series("loss/train")) == 6


def test_prints_are_equal_for_equal_weights_and_as_far_apart_as_they_are() -> None:
    torch.manual_seed(0)
    for size in (1, 7, 300, 5000, 100_000):
        a = torch.randn(size)
        b = a + 0.01 * torch.randn(size)
        one, same, other = prints([a])[0], prints([a.clone()])[0], prints([b])[0]
        assert (one == same).all()
        assert one[0] != other[0]
    gaps = []
    for _ in range(200):
        a, change = torch.randn(1000), 0.01 * torch.randn(1000)
        gaps.append((prints([a])[0, 0] - prints([a + change])[0, 0]) / float(change.norm()))
    assert 0.8 < np.std(gaps) < 1.2


def test_all_ranks_look_at_the_same_steps() -> None:
    steps = [s for s in range(20_000) if due(s)]
    assert steps[:8] == [0, 1, 2, 4, 8, 16, 32, 64]
    assert {256 * i for i in range(32)} <= set(steps)
    assert len(steps) < 60


def test_what_is_divided_among_ranks_has_no_print() -> None:
    assert plain(torch.nn.Parameter(torch.ones(3)))
    assert not plain(torch.ones(3, device="meta"))
    assert not plain(torch.ones(3).to_sparse())
    assert not plain(torch.arange(3))


def test_rows_are_bounded() -> None:
    rows = RankRows()
    for i in range(2000):
        rows.add(keys_of(torch.full((16, 3), float(i))), epoch=0)
    assert (len(rows.batches), rows.full(0)) == (64, True)
    assert len(rows.sketch) == SKETCH
    assert max(map(len, rows.batches)) == 8


def test_appointments_are_not_slept_through() -> None:
    governor = Governor(0.01)
    for _ in range(50):
        governor.step_took(1e-4, 1e-4, False, False)
    governor._awake_next = governor.frame.next_step = governor.norm.next_step = 10**9
    assert governor.may_sleep(5120)
    assert governor.sleeps_until(5000) == 10**9
    governor.appointments = 256
    assert not governor.may_sleep(5120)
    assert governor.sleeps_until(5000) == 5120
    assert governor.sleeps_until(5120) == 5376
