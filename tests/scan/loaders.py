"""Loaders that the tests scan: digits as they are, and ways to spoil them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset, TensorDataset


@cache
def digits() -> tuple[np.ndarray, np.ndarray]:
    """All 1,797 digits, shuffled once, scaled to 0..1."""
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return (x[order] / 16).astype(np.float32), y[order]


def split(cut: int = 1400) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    x, y = digits()
    return x[:cut].copy(), y[:cut].copy(), x[cut:].copy(), y[cut:].copy()


def loader(x: Any, y: Any, shuffle: bool = True, batch: int = 32, **more: Any) -> DataLoader[Any]:
    return DataLoader(TensorDataset(torch.as_tensor(x), torch.as_tensor(y)), batch, shuffle=shuffle, **more)


class Items(Dataset[Any]):
    """A data set of the user's own, around a function of the index."""

    def __init__(self, make: Any, length: int, **attributes: Any) -> None:
        self.make, self.length = make, length
        vars(self).update(attributes)

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        return self.make(self, index)


def pictures(count: int, seed: int = 0, size: int = 32) -> np.ndarray:
    """Smooth random pictures, each with a pattern of its own."""
    draws = np.random.default_rng(seed)
    coarse = draws.random((count, 3, 8, 8)).astype(np.float32)
    return torch.nn.functional.interpolate(torch.from_numpy(coarse), size=(size, size), mode="bilinear").numpy()
