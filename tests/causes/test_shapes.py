"""Shapes of curves in logs, as noisy, short and mild as real ones are: at least nine in ten of each kind are named right."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sickbay.conclude import diagnose
from sickbay.facts import Log, Run
from sickbay.record.reader import Record, with_facts
from sickbay.testing import make_record

Rng = np.random.Generator
TRIES = 10


def logged(train: np.ndarray, val: np.ndarray | None = None, every: int = 1) -> Record:
    steps = 10 * (np.arange(len(train)) + 1)
    series = {"loss/train": (steps, train)} | ({} if val is None else {"loss/eval": (steps[every - 1 :: every][: len(val)], val)})
    return with_facts(make_record(series=series), log=Log(file="x", axis="step", values_are_means=True), run=Run(steps=int(steps[-1])))


def wobbling(values: np.ndarray, r: Rng, share: float) -> np.ndarray:
    return np.asarray(values * (1 + share * r.standard_normal(len(values))))


def fine_tuning(r: Rng) -> Record:
    n = int(r.integers(30, 400))
    t, first, floor = np.linspace(0, 1, n), r.uniform(1.5, 3), r.uniform(0.4, 0.75)
    clean = first * (floor + (1 - floor) * (0.6 * np.exp(-40 * t) + 0.4 * (1 - t)))
    every = max(1, n // 10)
    return logged(wobbling(clean, r, r.uniform(0.02, 0.12)), wobbling(clean[every - 1 :: every], r, 0.01), every)


def converged(r: Rng) -> Record:
    n, floor, speed = int(r.integers(20, 300)), r.uniform(0.005, 0.3), r.uniform(8, 25)
    curve = (1 - floor) * np.exp(-speed * np.linspace(0, 1, n))
    return logged(wobbling(floor + curve, r, 0.02), wobbling(floor * r.uniform(1, 1.6) + curve, r, 0.05))


def five_epochs(r: Rng) -> Record:
    train = 0.3 + 0.7 * np.exp(-3 * np.linspace(0, 1, int(r.integers(5, 12))))
    return logged(train, 1.05 * train)


def noisy_validation(r: Rng) -> Record:
    n = int(r.integers(20, 120))
    curve = 0.9 * np.exp(-5 * np.linspace(0, 1, n))
    return logged(wobbling(0.1 + curve, r, 0.02), (0.15 + curve) * np.exp(0.35 * r.standard_normal(n)))


def single_batches(r: Rng) -> Record:
    n = int(r.integers(200, 2000))
    return logged((0.3 + 1.5 * np.exp(-6 * np.linspace(0, 1, n))) * np.exp(0.25 * r.standard_normal(n)))


def mild_overfitting(r: Rng) -> Record:
    t, turn, low = np.linspace(0, 1, int(r.integers(10, 60))), r.uniform(0.15, 0.5), r.uniform(0.4, 0.6)
    val = np.where(t < turn, low + (1 - low) * (1 - t / turn) ** 2, low * (1 + r.uniform(0.15, 0.4) * (t - turn) / (1 - turn)))
    return logged(0.05 + 0.95 * np.exp(-4 * t), wobbling(val, r, 0.02))


def memorised(r: Rng) -> Record:
    t = np.linspace(0, 1, int(r.integers(12, 80)))
    return logged(wobbling(0.01 + 0.99 * np.exp(-6 * t), r, 0.02), wobbling(0.55 + 0.45 * np.exp(-15 * t) + 0.03 * t, r, 0.02))


def three_evaluations(r: Rng) -> Record:
    val = np.array([0.45, 0.5, 0.6, 0.75, 0.9])[: int(r.integers(3, 6))]
    t = np.linspace(0, 1, 20 * len(val))
    return logged(wobbling(0.05 + 0.9 * np.exp(-5 * t), r, 0.1), val, 20)


def at_chance(r: Rng) -> Record:
    n = int(r.integers(8, 300))
    return logged(0.693 + r.uniform(0.001, 0.05) * r.standard_normal(n), 0.693 + 0.002 * r.standard_normal(n))


def chance_after_the_first_epoch(r: Rng) -> Record:
    train = 0.6931 + 0.0005 * r.standard_normal(int(r.integers(10, 60)))
    train[0] = r.uniform(0.7, 0.9)
    return logged(train)


def late_nan(r: Rng) -> Record:
    n = int(r.integers(10, 200))
    train = np.exp(-3 * np.linspace(0, 1, n))
    train[int(n * r.uniform(0.2, 0.95)) :] = np.nan
    return logged(train)


def climbing(r: Rng) -> Record:
    return logged(wobbling(1 + r.uniform(3, 20) * np.linspace(0, 1, int(r.integers(8, 100))), r, 0.05))


def lost_again(r: Rng) -> Record:
    t = np.linspace(0, 1, int(r.integers(20, 200)))
    return logged(wobbling(np.where(t < r.uniform(0.3, 0.7), 0.2 + 0.8 * np.exp(-6 * t), r.uniform(1, 3)), r, 0.02))


def jumping(r: Rng) -> Record:
    n = int(r.integers(60, 400))
    train = wobbling(0.1 + 0.9 * np.exp(-6 * np.linspace(0, 1, n)), r, 0.03)
    train[r.choice(np.arange(10, n - 10), 3, replace=False)] *= r.uniform(6, 50)
    return logged(train)


def stuck_high(r: Rng) -> Record:
    t, floor = np.linspace(0, 1, int(r.integers(20, 300))), r.uniform(0.72, 0.88)
    train = floor + (1 - floor) * np.exp(-r.uniform(15, 40) * t)
    return logged(wobbling(train, r, r.uniform(0.003, 0.015)), train)


def language_model_tuning(r: Rng) -> Record:
    """A tenth to a third is won, most of it at once, in batches of great noise."""
    n = int(r.integers(100, 1500))
    t, won = np.linspace(0, 1, n), r.uniform(0.15, 0.35)
    clean = r.uniform(1, 2.5) * (1 - won + won * (0.7 * np.exp(-r.uniform(10, 40) * t) + 0.3 * (1 - t)))
    return logged(wobbling(clean, r, r.uniform(0.03, 0.12)))


def creeping_validation(r: Rng) -> Record:
    n = int(r.integers(60, 800))
    t, every = np.linspace(0, 1, n), n // int(r.integers(4, 12))
    clean = 0.75 + 0.15 * np.exp(-30 * t) + 0.1 * (1 - t)
    return logged(wobbling(clean, r, 0.2), clean[every - 1 :: every], every)


def power_law(r: Rng) -> Record:
    n = int(r.integers(50, 3000))
    return logged(wobbling(r.uniform(2, 3.5) + 8 * np.arange(1, n + 1) ** -r.uniform(0.2, 0.6), r, r.uniform(0.005, 0.05)))


def restarts_of_the_rate(r: Rng) -> Record:
    n = int(r.integers(100, 400))
    length = n // int(r.integers(3, 6))
    return logged(wobbling(0.3 + 1.2 * np.exp(-6 * np.arange(n) / n) + 0.08 * np.cos(np.pi * (np.arange(n) % length) / length), r, 0.04))


def late_descent(r: Rng) -> Record:
    t = np.linspace(0, 1, int(r.integers(40, 300)))
    return logged(wobbling(0.2 + 2 / (1 + np.exp(25 * (t - r.uniform(0.3, 0.6)))), r, 0.03))


def stuck_at_half(r: Rng) -> Record:
    t, floor = np.linspace(0, 1, int(r.integers(30, 300))), r.uniform(0.45, 0.7)
    train = floor + (1 - floor) * np.exp(-r.uniform(25, 60) * t)
    return logged(wobbling(train, r, 0.005), wobbling(train, r, 0.01))


def diverged_between(r: Rng) -> Record:
    """To the entropy of single words: above its best, below its start."""
    n = int(r.integers(40, 500))
    i, low = np.arange(n), r.uniform(3, 6)
    return logged(wobbling(np.where(i < r.uniform(0.2, 0.7) * n, low + (10.5 - low) * np.exp(-i / (0.05 * n)), r.uniform(7.2, 9)), r, 0.02))


def jumping_between_few(r: Rng) -> Record:
    n = int(r.integers(25, 60))
    train = wobbling(0.2 + 1.5 * np.exp(-7 * np.linspace(0, 1, n)), r, 0.04)
    train[int(r.integers(n // 3, n - 4))] *= r.uniform(6, 40)
    return logged(train)


EXPECTED: dict[Callable[[Rng], Record], str] = {
    fine_tuning: "healthy",
    converged: "healthy",
    five_epochs: "healthy",
    noisy_validation: "healthy",
    single_batches: "healthy",
    language_model_tuning: "healthy",
    creeping_validation: "healthy",
    power_law: "healthy",
    restarts_of_the_rate: "healthy",
    late_descent: "healthy",
    mild_overfitting: "overfitting",
    memorised: "overfitting",
    three_evaluations: "overfitting",
    at_chance: "flat-not-learning",
    chance_after_the_first_epoch: "flat-not-learning",
    late_nan: "diverged-nan",
    climbing: "diverged-nan",
    lost_again: "diverged-nan",
    jumping: "spikes",
    diverged_between: "diverged-nan",
    jumping_between_few: "spikes",
    stuck_high: "plateau",
    stuck_at_half: "plateau",
}


@pytest.mark.parametrize("draw", EXPECTED, ids=lambda f: f.__name__)
def test_shapes_are_named(draw: Callable[[Rng], Record]) -> None:
    found = [diagnose(draw(np.random.default_rng(seed))).shapes[0] for seed in range(TRIES)]
    assert found.count(EXPECTED[draw]) >= 0.9 * TRIES, found
