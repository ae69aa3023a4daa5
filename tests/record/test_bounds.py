"""A record stays within its budget however long the run, and keeps the beginning, the end and the order."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from sickbay.record.reader import read_record
from sickbay.record.writer import RecordWriter

BUDGET = 2 * 2**20
PULSE = tuple("loss/train lr grad_norm time/step time/data time/forward time/backward time/optimizer time/own memory/rss epoch".split())


def on_disk(path: Path) -> int:
    return sum(p.stat().st_size for p in path.parent.iterdir())


def test_a_million_steps(tmp_path: Path) -> None:
    """Pulses on every step, families on every hundredth, facts now and then; flushed as a run is flushed."""
    path = tmp_path / "run.sickbay"
    writer = RecordWriter(path, budget_bytes=BUDGET)
    layers = tuple(f"encoder.layers.{i}.weight" for i in range(60))
    families = [f"family{i}" for i in range(8)]
    values = list(np.linspace(0, 1, len(PULSE)))
    wide = np.zeros((60, 33), np.float32)
    largest = 0
    for step in range(1_000_000):
        values[0] = float(step)
        writer.frame("pulse", step, PULSE, values)
        if step % 200 == 0:
            for family in families:
                writer.frame(family, step, layers, wide[:, 0] + step)
            writer.frame("histogram", step, layers, wide, 33)
        if step % 500 == 0:
            writer.fact("run", {"steps": step})
            writer.flush()
        if step % 20_000 == 0:
            largest = max(largest, on_disk(path))
    writer.close()
    largest = max(largest, on_disk(path))
    assert largest <= 1.5 * BUDGET, f"{largest / BUDGET:.2f} times the budget"
    record = read_record(path)
    assert record.damage == ()
    loss = record.series("loss/train")
    np.testing.assert_array_equal(loss.steps, loss.values)
    assert (np.diff(loss.steps) > 0).all()
    assert loss.steps[0] == 0
    assert loss.steps[-1] == 999_999
    np.testing.assert_array_equal(loss.steps[:1000], range(1000))  # the beginning is kept in full
    assert len(loss) > 3000
    # No hole: the middle of the run is thinner, not gone.
    assert np.diff(loss.steps).max() < 10_000
    for family in families:
        seen = record.family(family)
        assert seen.steps[0] == 0
        assert seen.steps[-1] >= 999_000
        assert (np.diff(seen.steps) > 0).all()
        np.testing.assert_array_equal(seen.values[:, 0], seen.steps.astype(np.float32))


def test_layouts_that_keep_changing(tmp_path: Path) -> None:
    """Every step names its numbers differently: the names count too."""
    path = tmp_path / "run.sickbay"
    writer = RecordWriter(path, budget_bytes=2**20)
    pieces = [f"some/rather/long/name/of/a/series/{i}" for i in range(40)]
    for step in range(20_000):
        names = tuple(itertools.islice(itertools.cycle(pieces), step % 37, step % 37 + 5 + step % 3))
        writer.frame("pulse", step, names, [float(step)] * len(names))
        if step % 50 == 0:
            writer.flush()
    writer.close()
    assert on_disk(path) <= 1.5 * 2**20
    record = read_record(path)
    steps = np.unique(np.concatenate([s.steps for s in record.all_series.values()]))
    assert steps[0] == 0
    assert steps[-1] == 19_999


@pytest.mark.parametrize("every", [1, 7, 1000])
def test_thinning_keeps_the_order_and_the_ends(every: int, tmp_path: Path) -> None:
    path = tmp_path / "run.sickbay"
    writer = RecordWriter(path, budget_bytes=100_000)
    for step in range(6000):
        writer.frame("pulse", step, ("x", "y"), [float(step), -float(step)])
        if step % every == 0:
            writer.flush()
    writer.close()
    record = read_record(path)
    x, y = record.series("x"), record.series("y")
    np.testing.assert_array_equal(x.steps, x.values)
    np.testing.assert_array_equal(y.values, -x.values)
    assert (np.diff(x.steps) > 0).all()
    assert (x.steps[0], x.steps[-1]) == (0, 5999)
    assert len(x) < 6000 or every == 1000


def test_facts_are_written_only_when_they_change(tmp_path: Path) -> None:
    path = tmp_path / "run.sickbay"
    writer = RecordWriter(path)
    big = ["x" * 100] * 1000
    for _ in range(200):
        writer.fact("limits", [{"what": b, "why": ""} for b in big[:100]])
        writer.flush()
    writer.close()
    assert on_disk(path) < 2**20


def test_every_flush_counts_early_on(tmp_path: Path) -> None:
    """A run that is killed after its first step is told of."""
    writer = RecordWriter(tmp_path / "run.sickbay")
    due = []
    for step in range(20):
        writer.frame("pulse", step, ("x",), [0.0])
        if writer.due():
            due.append(step)
            writer.flush()
    assert due[:4] == [0, 1, 3, 7]
    writer.close()
