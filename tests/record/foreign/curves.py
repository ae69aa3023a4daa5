"""Curves of every shape, as real runs draw them: each value a mean over an epoch or a logging interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SHAPES = ("healthy", "overfitting", "diverged-nan", "flat-not-learning", "plateau", "spikes")


@dataclass(frozen=True)
class Curves:
    """Training loss, and validation loss at some of its points."""

    shape: str
    train: np.ndarray
    val: np.ndarray | None
    every: int = 1
    """Validation after every so many training values."""


def draw(shape: str, seed: int, *, points: int | None = None, validated: bool = True) -> Curves:
    rng = np.random.default_rng([SHAPES.index(shape), seed])
    n = points or int(rng.integers(80 if shape == "spikes" else 12, 200))
    t = np.linspace(0, 1, n)
    scale = float(10 ** rng.uniform(-2, 2))
    noise = float(rng.choice([0.003, 0.01, 0.03]))
    train, val = globals()[f"_{shape.replace('-', '_')}"](rng, t)
    wobble = 1 + noise * rng.standard_normal(n)
    train = scale * train * wobble
    val = scale * val * (1 + 2 * noise * rng.standard_normal(n))
    return Curves(shape, train, val if validated else None)


def _descent(rng: np.random.Generator, t: np.ndarray, floor: float) -> np.ndarray:
    kind = rng.integers(3)
    speed = rng.uniform(3, 8)
    if kind == 0:
        return floor + (1 - floor) * np.exp(-speed * t)
    if kind == 1:
        return floor + (1 - floor) / (1 + 3 * speed * t)
    return floor + (1 - floor) * (1 - t) ** 1.5


def _healthy(rng: np.random.Generator, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    train = _descent(rng, t, float(rng.uniform(0.05, 0.4)))
    gap = float(rng.uniform(-0.05, 0.08))
    return train, train + gap * np.minimum(1, 4 * t) * (train[-1] + 0.2)


def _overfitting(rng: np.random.Generator, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    train = 0.02 + 0.98 * np.exp(-rng.uniform(3, 6) * t)
    turn = float(rng.uniform(0.1, 0.5))
    low = float(rng.uniform(0.4, 0.7))
    val = np.where(t < turn, low + (1 - low) * (1 - t / turn) ** 2, low + low * rng.uniform(0.5, 2) * (t - turn) / (1 - turn))
    return train, val


def _diverged_nan(rng: np.random.Generator, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    kind = rng.integers(3)
    at = float(rng.uniform(0.1, 0.7))
    if kind == 0:  # NaN from one point on
        return np.where(t < at, np.exp(-2 * t), np.nan), np.where(t < at, np.exp(-2 * t), np.nan)
    if kind == 1:  # falls, then climbs far above its start
        curve = np.where(t < at, np.exp(-2 * t), 1 + 30 * (t - at))
        return curve, curve
    return 1 + 40 * t, 1 + 40 * t


def _flat_not_learning(rng: np.random.Generator, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    level = np.ones_like(t) * (1 + 0.002 * np.exp(-30 * t))
    return level, np.ones_like(t)


def _plateau(rng: np.random.Generator, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    floor = float(rng.uniform(0.72, 0.85))
    train = floor + (1 - floor) * np.exp(-25 * t)
    return train, train


def _spikes(rng: np.random.Generator, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    train = 0.1 + 0.9 * np.exp(-6 * t)
    val = train.copy()
    for at in rng.choice(np.arange(len(t) // 4, len(t) - 8), size=3, replace=False):
        train[at] *= rng.uniform(8, 40)
    return train, val
