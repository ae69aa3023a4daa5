"""Very short steps are dozed through: what is written of them is the same as without, and anything unusual is seen in its own step."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from observe.watched import watching
from sickbay.observe.governor import Governor, Instrument
from sickbay.observe.nap import Nap
from sickbay.observe.rebuilt import RebuiltWatch
from sickbay.record.reader import Record, read_record
from sickbay.settings import Settings

STEPS, BEGINNING = 60, 4


@pytest.fixture(autouse=True)
def drowsy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sleep whenever it's allowed, from the fifth step on, in stretches of ten."""
    monkeypatch.setattr(Governor, "may_sleep", lambda _, step: step >= BEGINNING and step % 10 != 0)
    monkeypatch.setattr(Governor, "sleeps_until", lambda _, step: step - step % 10 + 10)
    monkeypatch.setattr(Instrument, "due", lambda _, step: step < BEGINNING)


def record_of(tmp_path: Path, train: Callable[[], list[float]]) -> tuple[Record, list[float], int]:
    naps: list[int] = []
    end = Nap.end

    def counted(nap: Nap) -> None:
        naps.append(len(nap.rows))
        end(nap)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Nap, "end", counted)
        with watching(tmp_path / "run.sickbay", Settings()):
            losses = train()
    return read_record(tmp_path / "run.sickbay"), losses, sum(naps)


def parts() -> tuple[nn.Module, torch.optim.Optimizer, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    return model, torch.optim.SGD(model.parameters(), lr=0.1), torch.randn(24, 4), torch.randint(0, 3, (24,))


def test_every_step_is_written(tmp_path: Path) -> None:
    def train() -> list[float]:
        model, optimizer, x, y = parts()
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
        loader = DataLoader(TensorDataset(x, y), batch_size=2)
        losses = []
        for _ in range(5):
            for a, b in loader:
                optimizer.zero_grad()
                loss = F.cross_entropy(model(a), b)
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                losses.append(loss.item())
        return losses

    record, losses, napped = record_of(tmp_path, train)
    assert napped > STEPS / 2
    series = record.series("loss/train")
    assert list(series.steps) == list(range(STEPS))
    assert series.values == pytest.approx(losses, rel=1e-6)
    assert record.series("lr").values == pytest.approx(0.1 * 0.99 ** np.arange(STEPS), rel=1e-5)
    assert len(record.series("epoch")) == STEPS and record.series("epoch").values[-1] == 4
    assert len(record.series("time/step")) == STEPS and (record.series("time/step").values > 0).all()
    (clipping,) = record.facts.clippings
    assert clipping.calls == STEPS
    assert record.facts.run.steps == STEPS and record.facts.run.backwards == STEPS
    assert record.facts.schedulers[0].steps == STEPS


def test_accumulation_gives_the_mean_of_a_step(tmp_path: Path) -> None:
    def train() -> list[float]:
        model, optimizer, x, y = parts()
        means = []
        for _ in range(STEPS):
            values = []
            optimizer.zero_grad()
            for half in (slice(0, 12), slice(12, 24)):
                loss = F.cross_entropy(model(x[half]), y[half]) / 2
                loss.backward()
                values.append(loss.item())
            optimizer.step()
            means.append(sum(values) / 2)
        return means

    record, means, napped = record_of(tmp_path, train)
    assert napped > STEPS / 2
    assert record.series("loss/train").values == pytest.approx(means, rel=1e-5)
    assert record.facts.run.backwards == 2 * STEPS


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e6])
def test_an_unusual_loss_is_seen_in_its_own_step(tmp_path: Path, value: float) -> None:
    at = 47

    def train() -> list[float]:
        model, optimizer, x, y = parts()
        for i in range(STEPS):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y) * (value if i == at else 1.0)
            loss.backward()
            if i != at:
                optimizer.step()
        return []

    record, _, napped = record_of(tmp_path, train)
    assert napped > STEPS / 2
    if math.isfinite(value):
        assert record.series("loss/train").values.max() > 1e5
    else:
        assert [e.step for e in record.events("nonfinite-loss")] == [at]


@pytest.mark.parametrize("skips", [True, False])
def test_a_loss_that_the_script_leaves_out_is_told_from_one_that_it_uses(tmp_path: Path, skips: bool) -> None:
    bad = (23, 37, 45)

    def train() -> list[float]:
        model, optimizer, x, y = parts()
        for i in range(STEPS):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x * (math.nan if i in bad else 1.0)), y)
            if skips and not torch.isfinite(loss):
                continue
            loss.backward()
            if math.isfinite(loss.item()):
                optimizer.step()
        return []

    record, _, napped = record_of(tmp_path, train)
    assert napped > STEPS / 2
    assert sum(m.times for m in record.facts.masked if m.way == "skipped") == (len(bad) if skips else 0)


def test_evaluation_and_a_second_loss_end_a_nap(tmp_path: Path) -> None:
    def train() -> list[float]:
        model, optimizer, x, y = parts()
        for i in range(STEPS):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            if i % 20 == 15:
                with torch.no_grad():
                    F.cross_entropy(model(x), y)
            if i == 33:
                optimizer.zero_grad()
                other = F.mse_loss(model(x), torch.zeros(24, 3))
                other.backward()
                optimizer.step()
        return []

    record, _, napped = record_of(tmp_path, train)
    assert napped > STEPS / 2
    assert len(record.series("loss/eval")) == 3
    assert len(record.series("loss/train")) == STEPS
    assert list(record.series("loss/train@1").steps) == [34]
    assert record.facts.run.steps == STEPS + 1


def test_an_evaluation_whose_loss_is_taken_with_gradients_on_is_seen(tmp_path: Path) -> None:
    def train() -> list[float]:
        model, optimizer, x, y = parts()
        seen = []
        for step in range(STEPS):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            if step % 7 == 6:
                with torch.no_grad():
                    out = model(x)
                seen.append(F.cross_entropy(out, y).item())
        return seen

    record, seen, _ = record_of(tmp_path, train)
    assert np.allclose(record.series("loss/eval").values, seen)


def test_an_optimizer_that_is_made_anew_is_still_counted(tmp_path: Path) -> None:
    def train() -> list[float]:
        model, _, x, y = parts()
        for i in range(STEPS):
            if i % 20 == 0:
                optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        return []

    record, _, napped = record_of(tmp_path, train)
    assert napped > STEPS / 2
    (found,) = record.facts.rebuilt
    assert found.times == 1 and found.steps == pytest.approx(20)


def test_an_observer_that_fails_after_a_nap_is_retired_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError("injected")

    monkeypatch.setattr(RebuiltWatch, "napped", fails)

    def train() -> list[float]:
        model, optimizer, x, y = parts()
        for _ in range(STEPS):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        return []

    record, _, _ = record_of(tmp_path, train)
    (event,) = record.events("observer-failed")
    assert (event.data["observer"], event.data["moment"]) == ("rebuilt", "napped")
    assert len(record.series("loss/train")) == STEPS


@pytest.mark.parametrize("part", ["_backward", "_stepped", "end"])
def test_a_nap_that_fails_leaves_training_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    def train() -> list[float]:
        model, optimizer, x, y = parts()
        losses = []
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    expected = train()

    def fails(*_: object) -> None:
        raise ZeroDivisionError("injected")

    monkeypatch.setattr(Nap, part, fails)
    with watching(tmp_path / "run.sickbay", Settings()):
        assert train() == expected
    record = read_record(tmp_path / "run.sickbay")
    assert [limit for limit in record.facts.limits if "injected" in limit.why]
    assert record.series("loss/train").values[-1] == pytest.approx(expected[-1], rel=1e-6)
