"""What may well be meant is at most a remark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import make_blobs
from torch.utils.data import DataLoader, Sampler, TensorDataset, WeightedRandomSampler

import sickbay
from scan.loaders import Items, loader, pictures, split

Pair = tuple[Any, Any]


def clean() -> Pair:
    x, y, x_val, y_val = split()
    return loader(x, y), loader(x_val, y_val, shuffle=False)


def oversampled() -> Pair:
    x, y, x_val, y_val = split()
    keep = np.flatnonzero((y < 2) | (np.arange(len(y)) % 10 == 0))
    weights = 1 / np.bincount(y[keep], minlength=10)[y[keep]]
    data = TensorDataset(torch.from_numpy(x[keep]), torch.from_numpy(y[keep]))
    return DataLoader(data, 32, sampler=WeightedRandomSampler(weights, len(keep))), loader(x_val, y_val, shuffle=False)


def imbalanced() -> Pair:
    draws = np.random.default_rng(0)
    y = (draws.random(1000) < 0.05).astype(np.int64)
    return loader(draws.standard_normal((1000, 8)).astype(np.float32) + 2 * y[:, None], y), None


def series() -> Pair:
    """Windows of a series that grows and whose state comes and goes, in the order of time; validation is its future."""
    draws = np.random.default_rng(0)
    t = np.arange(2400)
    state = (np.sin(t / 40) > 0).astype(np.int64)
    values = (1 + t / 2000) * (state + 0.1 * draws.standard_normal(len(t)))
    windows = np.lib.stride_tricks.sliding_window_view(values, 24)[:2300].astype(np.float32).copy()
    y = state[24:2324]
    return loader(windows[:1800], y[:1800], shuffle=False), loader(windows[1800:], y[1800:], shuffle=False)


def rising_series() -> Pair:
    values = np.cumsum(np.random.default_rng(0).random(1200)).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(values, 12)[:1100].copy()
    return loader(windows[:900], values[12:912], shuffle=False), loader(windows[900:], values[912:1112], shuffle=False)


def one_hot() -> Pair:
    draws = np.random.default_rng(0)
    category = draws.integers(0, 40, 1200)
    x = np.eye(60, dtype=np.float32)[category]
    y = ((category % 3) ^ (draws.random(1200) < 0.1)).astype(np.int64)
    return loader(x[:900], y[:900]), loader(x[900:], y[900:], shuffle=False)


def padded() -> Pair:
    draws = np.random.default_rng(0)

    def batches(count: int) -> list[dict[str, torch.Tensor]]:
        made = []
        for _ in range(count):
            length = int(draws.integers(5, 40))
            ids = torch.from_numpy(draws.integers(1, 900, (16, length)))
            ids[:, length - 2 :] = 0
            mask = torch.zeros(16, length).masked_fill(ids == 0, float("-inf"))
            made.append({"input_ids": ids, "mask": mask, "labels": torch.from_numpy(draws.integers(0, 3, 16))})
        return made

    return batches(40), batches(10)


class Episodes(Sampler[list[int]]):
    """Five samples of each of two classes that are drawn for each batch."""

    def __init__(self, y: np.ndarray) -> None:
        self.y = y

    def __iter__(self) -> Any:
        draws = np.random.default_rng()
        for _ in range(60):
            classes = draws.choice(10, 2, replace=False)
            yield np.concatenate([draws.choice(np.flatnonzero(self.y == c), 5) for c in classes]).tolist()

    def __len__(self) -> int:
        return 60


def episodes() -> Pair:
    x, y, *_ = split()
    return DataLoader(TensorDataset(torch.from_numpy(x), torch.from_numpy(y)), batch_sampler=Episodes(y)), None


def augmented() -> Pair:
    x, x_val = pictures(300), pictures(150, seed=5)

    def shaken(_: Any, i: int) -> Any:
        return torch.from_numpy(x[i]).roll(int(torch.randint(-3, 4, ())), -1) * (0.5 + torch.rand(())), i % 5

    return DataLoader(Items(shaken, 300), 32, shuffle=True), loader(x_val, np.arange(150) % 5, shuffle=False)


def ids_and_counts() -> Pair:
    """A table with a large id, a constant and counts."""
    draws = np.random.default_rng(0)
    x = np.column_stack([np.arange(600), draws.poisson(3, 600), np.ones(600), draws.standard_normal((600, 3))]).astype(np.float32)
    y = (x[:, 3] > 0).astype(np.int64)
    return loader(x[:450], y[:450]), loader(x[450:], y[450:], shuffle=False)


def several_tasks() -> Pair:
    """Targets of several tasks, with NaN where a task has no answer."""
    draws = np.random.default_rng(0)
    y = draws.standard_normal((300, 4)).astype(np.float32)
    y[draws.random((300, 4)) < 0.3] = np.nan
    return loader(draws.standard_normal((300, 10)).astype(np.float32), y), None


def random_benchmark() -> Pair:
    return loader(torch.randn(600, 20), torch.randint(0, 5, (600,))), loader(torch.randn(200, 20), torch.randint(0, 5, (200,)))


def language_model() -> Pair:
    """Windows of one text that overlap, where input and target are the same text."""
    text = torch.randint(0, 60, (3000,))
    ids = torch.stack([text[i : i + 32] for i in range(0, 2900, 4)])
    return DataLoader(TensorDataset(ids[:600, :-1], ids[:600, 1:]), 16, shuffle=True), DataLoader(TensorDataset(ids[600:, :-1], ids[600:, 1:]), 16)


def simple_pictures() -> Pair:
    """Pictures that are alike by nature: one bright square each."""
    draws = np.random.default_rng(0)
    x = np.zeros((600, 1, 28, 28), np.float32)
    for i, (a, b) in enumerate(draws.integers(2, 20, (600, 2))):
        x[i, 0, a : a + 6, b : b + 6] = 1
    y = (x.sum((1, 2)).argmax(1) > 14).astype(np.int64)
    return loader(x[:400], y[:400]), loader(x[400:], y[400:], shuffle=False)


def overlapping() -> Pair:
    """Six classes in the plane, of which a third cannot be told apart."""
    x, y = make_blobs(1000, centers=6, cluster_std=2.5, random_state=0)
    x = (x / 5).astype(np.float32)
    return loader(x[:750], y[:750]), loader(x[750:], y[750:], shuffle=False)


def drifting() -> Pair:
    """A walk that was standardised on its past; training shuffles."""
    x = np.cumsum(np.random.default_rng(0).standard_normal((1500, 6)), 0)
    y = (x[:, 0] > x[:, 0].mean()).astype(np.int64)
    x = ((x - x[:1100].mean(0)) / x[:1100].std(0)).astype(np.float32)
    return loader(x[:1100], y[:1100]), loader(x[1100:], y[1100:], shuffle=False)


CASES: list[Callable[[], Pair]] = [
    clean, oversampled, imbalanced, series, rising_series, one_hot, padded, episodes, augmented, ids_and_counts, several_tasks, random_benchmark,
    language_model, simple_pictures, overlapping, drifting,
]  # fmt: skip


@pytest.mark.parametrize("make", CASES, ids=lambda f: f.__name__)
def test_nothing_is_called_wrong(make: Callable[[], Pair]) -> None:
    torch.manual_seed(0)
    result = sickbay.scan(*make())
    assert not result.wrong, str(result)
    assert bool(result) and "nothing wrong found" in " ".join(str(result).split())


def test_imbalance_is_a_remark_with_weights() -> None:
    remark = next(f for f in sickbay.scan(*imbalanced()).remarks if f.cause == "class-imbalance")
    assert "class 0 has 96 %" in remark.text and "weight=torch.tensor([0.52, 11])" in remark.diff
