"""Records of several ranks, written by hand and read together."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sickbay.facts import Crash, Incident, Loader, Rank, Ranks, Run
from sickbay.record.ranks import read_ranks, together
from sickbay.record.ranks.rows import alike
from sickbay.record.writer import RecordWriter
from sickbay.runs import open_run

STEPS = (0, 1, 2, 4, 8, 16, 32)
NAMES = ("a.weight", "a.bias", "b.weight")


def write(
    folder: Path,
    rank: int,
    world: int = 2,
    *,
    shift: dict[int, float] | None = None,
    only: int | None = None,
    times: dict[str, Any] | None = None,
    steps: int = 40,
    started: float = 0.0,
    name: str = "",
    facts: dict[str, Any] | None = None,
    **fields: Any,
) -> Path:
    """The record of one rank: `shift` is by how much its weights differ from the common ones at some steps (in one tensor, if `only`)."""
    path = folder / f"{name or f'process-{rank}-{started:.0f}'}.sickbay"
    writer = RecordWriter(path)
    given: dict[str, Any] = {"joined": True, "launch": "here", "model": "m"} | fields
    writer.fact("rank", Rank(rank=rank, world_size=world, **given))
    writer.fact("run", Run(steps=steps, backwards=steps, started=started, seconds=5.0 + rank, finished=True))
    for fact, value in (facts or {}).items():
        writer.fact(fact, value)
    for step in STEPS:
        common = np.array([[1.0 + 0.1 * step, 2.0], [3.0 - 0.05 * step, 4.0], [0.5 + 0.01 * step, 1.0]])
        if shift and step in shift:
            common[slice(None) if only is None else only, 0] += shift[step]
        writer.frame("weight_print", step, NAMES, common, width=2)
    if times:
        times = {"time/own": 0.0} | times
        columns = ("time/step", "time/data", "time/forward", "time/backward", "time/own")
        for step in range(200):
            values = [float(t[step]) if isinstance(t, np.ndarray) else t for t in (times[c] for c in columns)]
            writer.frame("pulse", step, columns, values)
    writer.close()
    return path


def read(folder: Path) -> tuple[Path, Ranks]:
    return read_ranks(together(folder.glob("*.sickbay")))


class TestWeights:
    def test_equal(self, tmp_path: Path) -> None:
        for rank in range(3):
            write(tmp_path, rank, 3)
        weights = read(tmp_path)[1].weights
        assert weights is not None
        assert (weights.ranks, weights.parameters, weights.steps, weights.differ) == (3, 3, STEPS, ())

    def test_drifted_from_a_step_on_in_one_tensor_of_one_rank(self, tmp_path: Path) -> None:
        for rank in range(4):
            write(tmp_path, rank, 4, shift={s: 0.05 * s for s in STEPS if s >= 4} if rank == 2 else None, only=2)
        weights = read(tmp_path)[1].weights
        assert weights is not None
        assert (weights.differ, weights.names, weights.others, weights.together_again) == ((4, 8, 16, 32), ("b.weight",), (2,), None)
        assert weights.gap == pytest.approx(1.6, rel=0.01)

    def test_the_first_rank_may_be_the_odd_one(self, tmp_path: Path) -> None:
        for rank in range(3):
            write(tmp_path, rank, 3, shift=dict.fromkeys(STEPS, 1.0) if rank == 0 else None)
        weights = read(tmp_path)[1].weights
        assert weights is not None
        assert (weights.differ[0], weights.others, weights.count) == (0, (0,), 3)

    def test_they_come_back_together(self, tmp_path: Path) -> None:
        write(tmp_path, 0)
        write(tmp_path, 1, shift={1: 0.3, 2: 0.4, 4: 0.4, 16: 0.3})
        weights = read(tmp_path)[1].weights
        assert weights is not None
        assert weights.together_again == 8

    def test_rounding_is_no_difference(self, tmp_path: Path) -> None:
        write(tmp_path, 0)
        write(tmp_path, 1, shift=dict.fromkeys(STEPS, 2e-07))
        weights = read(tmp_path)[1].weights
        assert weights is not None
        assert not weights.differ

    def test_only_replicas_are_compared(self, tmp_path: Path) -> None:
        for rank in range(4):
            write(tmp_path, rank, 4, shift=dict.fromkeys(STEPS, 1.0) if rank % 2 else None, replicas=(rank % 2, rank % 2 + 2))
        weights = read(tmp_path)[1].weights
        assert weights is not None
        assert (weights.ranks, weights.differ) == (2, ())

    @pytest.mark.parametrize("fields", [{"model": "n"}, {"wrapper": "FullyShardedDataParallel"}])
    def test_other_models_and_sharded_ones_are_not(self, tmp_path: Path, fields: dict[str, str]) -> None:
        write(tmp_path, 0)
        write(tmp_path, 1, shift=dict.fromkeys(STEPS, 1.0), **fields)
        assert read(tmp_path)[1].weights is None


class TestRows:
    def test_same_rows_at_the_same_place(self, tmp_path: Path) -> None:
        rows = tuple((i, i + 1) for i in range(20))
        write(tmp_path, 0, 3, rows=rows)
        write(tmp_path, 1, 3, rows=tuple((i + 100, i) for i in range(20)))
        write(tmp_path, 2, 3, rows=rows)
        found = read(tmp_path)[1].rows
        assert found is not None
        assert (found.batches, found.same, found.pairs, found.distinct) == (20, 20, ((0, 2),), 20)

    def test_the_same_rows_at_other_places_are_told_by_the_whole_epoch(self, tmp_path: Path) -> None:
        loaders = [Loader(index=0, role="train", samples=400)]
        for rank in range(2):
            rows = tuple((1000 * rank + i,) for i in range(20))
            write(tmp_path, rank, rows=rows, loader=0, sketch=tuple(range(256)), rows_seen=400, facts={"loaders": loaders})
        found = read(tmp_path)[1].rows
        assert found is not None
        assert (found.same, found.overlap) == (0, 1.0)

    def test_sketches(self) -> None:
        generator = np.random.default_rng(0)
        keys = generator.integers(0, 2**48, 3000)
        small = [tuple(sorted(part)[:256]) for part in (keys[:2000].tolist(), keys[1000:].tolist(), keys[2000:].tolist())]
        assert alike(small[0], small[0]) == 1.0
        assert alike(small[0], small[1]) == pytest.approx(1 / 3, abs=0.08)
        assert alike(small[0], small[2]) == 0.0


class TestTimes:
    def test_the_rank_that_is_waited_for(self, tmp_path: Path) -> None:
        noise = np.random.default_rng(1).random((4, 200)) * 0.004
        for rank in range(4):
            own = 0.03 if rank == 2 else 0.005
            times = {"time/step": 0.05, "time/data": own + noise[rank], "time/forward": 0.01, "time/backward": 0.04 - own - noise[rank]}
            write(tmp_path, rank, 4, times=times)
        lag = read(tmp_path)[1].lag
        assert lag is not None
        assert (lag.rank, lag.part, lag.alike) == (2, "loading", True)
        assert lag.excess == pytest.approx(0.025, abs=0.002)
        assert lag.always > 0.95

    def test_what_watching_costs_one_rank_is_no_work_of_its_own(self, tmp_path: Path) -> None:
        """The others wait for that too, so that all steps are alike only with it."""
        write(tmp_path, 0, times={"time/step": 0.03, "time/data": 0.02, "time/forward": 0.005, "time/backward": 0.005, "time/own": 0.02})
        write(tmp_path, 1, times={"time/step": 0.05, "time/data": 0.001, "time/forward": 0.005, "time/backward": 0.044})
        lag = read(tmp_path)[1].lag
        assert lag is not None
        assert (lag.rank, lag.alike) == (0, True)
        assert lag.excess == pytest.approx(0.019, abs=0.001)

    def test_ranks_that_take_turns(self, tmp_path: Path) -> None:
        noise = np.random.default_rng(2).random((2, 200)) * 0.02
        for rank in range(2):
            write(tmp_path, rank, times={"time/step": 0.05, "time/data": noise[rank], "time/forward": 0.01, "time/backward": 0.04 - noise[rank]})
        lag = read(tmp_path)[1].lag
        assert lag is not None
        assert lag.excess < 0.1 * lag.step


class TestChosen:
    def test_the_first_that_was_not_finite(self, tmp_path: Path) -> None:
        """Gradients are exchanged: at the step at which rank 3's loss breaks, all ranks' gradients do."""
        for rank in range(4):
            write(tmp_path, rank, 4, facts={"incident": Incident(kind="loss" if rank == 3 else "gradient", step=12)})
        path, ranks = read(tmp_path)
        assert path.stem.startswith("process-3")
        assert (ranks.read, ranks.because) == (3, "it was the first whose loss was not finite (step 12)")
        assert [s.broken for s in ranks.all] == ["gradient"] * 3 + ["loss"]

    def test_all_at_once_is_the_first_ranks(self, tmp_path: Path) -> None:
        for rank in range(3):
            write(tmp_path, rank, 3, facts={"incident": Incident(kind="loss", step=7)})
        assert (read(tmp_path)[1].read, read(tmp_path)[1].because) == (0, "")

    def test_the_first_that_stopped_not_those_that_lost_contact(self, tmp_path: Path) -> None:
        gone = Crash(kind="RuntimeError", message="[../gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:1234", step=9)
        write(tmp_path, 0, 3, facts={"crash": gone})
        write(tmp_path, 1, 3, facts={"crash": Crash(kind="ValueError", message="ValueError: bad row", step=8)})
        write(tmp_path, 2, 3, facts={"crash": gone})
        ranks = read(tmp_path)[1]
        assert (ranks.read, ranks.because) == (1, "it stopped first, with ValueError at step 8")
        assert [s.lost_contact for s in ranks.all] == [True, False, True]

    def test_a_stage_without_a_loss_is_not_judged(self, tmp_path: Path) -> None:
        write(tmp_path, 0, model="front", own_loss=False)
        write(tmp_path, 1, model="back")
        assert (read(tmp_path)[1].read, read(tmp_path)[1].because) == (1, "rank 0 has no loss of its own")

    def test_missing_ranks(self, tmp_path: Path) -> None:
        write(tmp_path, 1, 4)
        write(tmp_path, 3, 4, local=2)
        ranks = read(tmp_path)[1]
        assert (ranks.missing, ranks.missing_count, ranks.elsewhere, ranks.because) == ((0, 2), 2, True, "rank 0 left no record")


class TestTogether:
    def test_the_last_attempt_counts(self, tmp_path: Path) -> None:
        for attempt in range(2):
            for rank in range(2):
                write(tmp_path, rank, attempt=attempt, started=10.0 * attempt, steps=100 - 50 * attempt)
        ranks = read(tmp_path)[1]
        assert (ranks.attempts, [s.steps for s in ranks.all]) == (2, [50, 50])

    def test_two_launches_are_two(self, tmp_path: Path) -> None:
        for launch, steps in (("one", 30), ("two", 60)):
            for rank in range(2):
                write(tmp_path, rank, launch=launch, steps=steps, name=f"{launch}-{rank}")
        assert [s.steps for s in read(tmp_path)[1].all] == [60, 60]

    def test_the_same_address_twice_is_two_launches(self, tmp_path: Path) -> None:
        for wave in range(2):
            for rank in range(2):
                write(tmp_path, rank, started=100.0 * wave, steps=20 + wave)
        ranks = read(tmp_path)[1]
        assert [(s.rank, s.steps) for s in ranks.all] == [(0, 21), (1, 21)]

    def test_single_processes_are_no_ranks(self, tmp_path: Path) -> None:
        for number in range(2):
            writer = RecordWriter(tmp_path / f"process-{number}.sickbay")
            writer.fact("run", Run(steps=10, backwards=10))
            writer.close()
        assert together(tmp_path.glob("*.sickbay")) == []
        record = open_run(tmp_path)
        assert record.facts.ranks is None
        assert [x.what for x in record.facts.limits] == ["the other processes of this run"]

    def test_what_was_compared_becomes_part_of_the_one_record(self, tmp_path: Path) -> None:
        write(tmp_path, 0)
        write(tmp_path, 1, facts={"incident": Incident(kind="loss", step=3)})
        record = open_run(tmp_path)
        assert record.path is not None
        assert record.path.stem.startswith("process-1")
        assert record.facts.ranks is not None
        assert record.facts.ranks.read == 1
        assert not record.facts.limits


def test_many_ranks_need_little_memory(tmp_path: Path) -> None:
    rows = tuple(tuple(range(i, i + 8)) for i in range(64))
    for rank in range(128):
        write(tmp_path, rank, 128, rows=rows)
    members = together(tmp_path.glob("*.sickbay"))
    tracemalloc.start()
    ranks = read_ranks(members)[1]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert ranks.weights is not None
    assert ranks.weights.ranks == 128
    assert peak < 128 * 40_000, f"{peak / 128:.0f} bytes per rank"
