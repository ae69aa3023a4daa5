"""Signs of the machine: time, memory, and the ranks of a distributed run."""

from __future__ import annotations

import numpy as np
import pytest

from sickbay.conclude import diagnose
from sickbay.facts import Apart, Hoard, Lag, Loader, Optimizer, Rank, Ranks, RankSummary, Run
from sickbay.record.reader import Record
from sickbay.signs import read_signs
from sickbay.testing import falling, make_record

MB = 2**20
LOOKS = np.array([0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512])


def names(record: Record) -> set[str]:
    return {s.name for s in read_signs(record)}


def jitter(count: int, size: float = 0.1, seed: int = 0) -> np.ndarray:
    return np.asarray(np.exp(size * np.random.default_rng(seed).standard_normal(count)))


# -- loader-wait ----------------------------------------------------------------------------------------------------


def waiting(wait: np.ndarray, step: np.ndarray, workers: int = 0, batches: int = 50) -> Record:
    series = {"time/data": wait, "time/step": step, "epoch": np.arange(len(wait)) // batches}
    return make_record(series=series, loaders=[Loader(index=0, role="train", workers=workers)])


def test_steps_that_wait_for_their_batch() -> None:
    (sign,) = read_signs(waiting(0.05 * jitter(200), 0.1 * jitter(200, seed=1))).named("loader-wait")
    assert sign.numbers["share"] == pytest.approx(0.5, abs=0.05)
    assert sign.text.startswith("a step waits 50 ms of its ") and "% of the training time" in sign.text


def test_a_few_milliseconds_are_no_wait_whatever_their_share() -> None:
    assert "loader-wait" not in names(waiting(0.004 * jitter(1000), 0.006 * jitter(1000, seed=1)))


def test_the_first_batch_of_each_epoch_is_no_wait() -> None:
    first = np.arange(200) % 4 == 0
    assert "loader-wait" not in names(waiting(np.where(first, 1.0, 0.001), np.where(first, 1.1, 0.1), batches=4))


def test_a_machine_that_was_busy_for_a_while_is_no_wait() -> None:
    wait = np.where(np.arange(400) < 300, 0.05, 0.002)
    assert "loader-wait" not in names(waiting(wait, wait + 0.02))


def test_short_waits_for_workers_are_the_machines() -> None:
    assert "loader-wait" not in names(waiting(0.02 * jitter(200), 0.04 * jitter(200), workers=2))


# -- memory-growth --------------------------------------------------------------------------------------------------


def memory(values: np.ndarray, epochs: int = 10) -> Record:
    run = Run(script="train.py", steps=600, backwards=600, exit=0, finished=True, epochs=epochs)
    return make_record(series={"memory/rss": (LOOKS, values * MB), "epoch": np.arange(600) * epochs // 600}, run=run)


def test_memory_that_grows_with_every_step() -> None:
    (sign,) = read_signs(memory(300 + 0.5 * LOOKS)).named("memory-growth")
    assert sign.numbers["per_step"] == pytest.approx(0.5 * MB)
    assert sign.text == "memory grows by 0.5 MB with every step: from 308 MB at step 16 to 556 MB at step 512, and it did not slow down"


def test_memory_that_levels_off_jumps_or_grows_by_little_does_not_grow() -> None:
    assert "memory-growth" not in names(memory(300 + 40 * np.log2(1 + LOOKS)))  # an allocator
    assert "memory-growth" not in names(memory(300 + np.minimum(LOOKS, 200)))  # a cache that is full
    assert "memory-growth" not in names(memory(np.where(LOOKS > 100, 600, 300)))  # an evaluation
    assert "memory-growth" not in names(memory(300 + 0.05 * LOOKS))


def test_the_first_pass_over_the_data_may_fill_a_cache() -> None:
    assert "memory-growth" not in names(memory(300 + 0.5 * LOOKS, epochs=1))


# -- step-time-drift ------------------------------------------------------------------------------------------------


def timed(seconds: np.ndarray) -> Record:
    return make_record(series={"time/step": seconds})


def test_steps_that_get_slower() -> None:
    (sign,) = read_signs(timed(np.linspace(0.01, 0.05, 400) * jitter(400, 0.2))).named("step-time-drift")
    assert sign.numbers["times"] > 2
    assert sign.where == "time/step" and "longer and longer over the run" in sign.text


def test_a_drift_of_several_times_shows_through_a_busy_machine() -> None:
    parts = np.repeat([8.6, 14.8, 25.3, 29.3, 24.7, 32.2, 45.3, 34.6], 50) / 1000
    assert "step-time-drift" in names(timed(np.concatenate([np.full(44, 0.009), parts * jitter(400, 0.2)])))


def test_stages_noise_busy_machines_and_tiny_steps_are_no_drift() -> None:
    assert "step-time-drift" not in names(timed(np.where(np.arange(400) < 200, 0.01, 0.04) * jitter(400)))  # layers were thawed
    assert "step-time-drift" not in names(timed(0.01 * jitter(400, 0.5)))
    assert "step-time-drift" not in names(timed(0.01 * (1 + np.sin(np.linspace(0, np.pi, 400))) * jitter(400)))  # ...and it came back
    assert "step-time-drift" not in names(timed(np.linspace(0.0003, 0.0012, 400) * jitter(400)))
    assert "step-time-drift" not in names(timed(np.linspace(0.01, 0.013, 400) * jitter(400)))


# -- rank-divergence, rank-lag --------------------------------------------------------------------------------------


def ranked(wrapper: str = "DistributedDataParallel", steps: tuple[int, int] = (100, 100), **facts: object) -> Record:
    told = tuple(Rank(rank=r, world_size=2, joined=True, wrapper=wrapper) for r in range(2))
    every = tuple(RankSummary(rank=r, steps=s, finished=True) for r, s in enumerate(steps))
    return make_record(steps=100, ranks=Ranks(world_size=2, all=every, facts=told, **facts))  # type: ignore[arg-type]


APART = Apart(steps=(0, 1, 2, 4), ranks=2, parameters=4, differ=(2, 4), names=("fc.weight",), count=1, last_count=4, gap=0.05)


def test_ranks_with_different_weights() -> None:
    (sign,) = read_signs(ranked(weights=APART)).named("rank-divergence")
    assert sign.text == "the weights of 2 ranks differ from step 2 on, and are 5 % of their size apart at step 4"


def test_ranks_with_different_numbers_of_steps() -> None:
    (sign,) = read_signs(ranked(steps=(100, 80))).named("rank-divergence")
    assert sign.text == "rank 1 made 80 steps, others up to 100"


def test_ensembles_averages_and_equal_ranks_do_not_diverge() -> None:
    assert "rank-divergence" not in names(ranked(wrapper="", weights=APART))
    together = Apart(steps=(0, 1, 2, 4, 8), ranks=2, differ=(2, 4), together_again=8, gap=0.05)
    assert "rank-divergence" not in names(ranked(weights=together))
    assert "rank-divergence" not in names(ranked(weights=Apart(steps=(0, 1, 2), ranks=2), steps=(100, 99)))


LAG = {
    "rank": 1,
    "part": "loading",
    "own": 0.06,
    "others": 0.01,
    "excess": 0.05,
    "step": 0.1,
    "alike": True,
    "always": 0.97,
    "steps": 100,
    "seconds": 5.0,
}


def test_a_rank_that_is_always_last() -> None:
    (sign,) = read_signs(ranked(lag=Lag(**LAG))).named("rank-lag")  # type: ignore[arg-type]
    assert sign.text == "rank 1 is 50 ms of a 100 ms step behind the others; 97 % of all waiting is for it"


@pytest.mark.parametrize("change", [{"always": 0.5}, {"excess": 0.01}, {"alike": False}, {"seconds": 0.3}])
def test_ranks_that_take_turns_or_lose_little_do_not_lag(change: dict[str, object]) -> None:
    assert "rank-lag" not in names(ranked(lag=Lag(**(LAG | change))))  # type: ignore[arg-type]


# -- and what explains them -----------------------------------------------------------------------------------------


def test_two_illnesses_of_the_machine_stay_two_each_with_its_own_signs() -> None:
    leak = Hoard(name="seen", first=32, last=512, first_step=32, last_step=512, bytes_each=MB / 2, epochs=5)
    series = {
        "loss/train": falling(2.3, 0.1, 600),
        "time/data": 0.05 * jitter(600),
        "time/step": 0.06 * jitter(600),
        "memory/rss": (LOOKS, (300 + 0.5 * LOOKS) * MB),
        "epoch": np.arange(600) // 60,
    }
    run = Run(script="train.py", steps=600, backwards=600, forwards=600, exit=0, finished=True, epochs=10)
    loaders, optimizers = [Loader(index=0, role="train")], [Optimizer(index=0, steps=600)]
    found = diagnose(make_record(series=series, run=run, hoards=[leak], loaders=loaders, optimizers=optimizers)).causes
    assert {c.cause: c.consequences for c in found} == {"memory-leak": ("memory-growth",), "input-bound": ("loader-wait",)}
