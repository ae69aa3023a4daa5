"""What a scan finds in data sets that its thresholds were not chosen on: nothing where nothing is planted, and what is planted at 5 %.

python -m bench.scan_sets              a table: false findings, precision and recall of wrong labels, copies in validation and NaN
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn import datasets
from torch.utils.data import DataLoader, TensorDataset

import sickbay
from sickbay.scans import ScanResult

SHARE, VALIDATION = 0.05, 0.25
Data = tuple[Any, Any]
Sides = tuple[Any, Any, Any, Any]


def _standard(x: Any) -> Any:
    return ((x - x.mean(0)) / np.maximum(x.std(0), 1e-9)).astype(np.float32)


def _bundled(load: Callable[..., Any]) -> Data:
    x, y = load(return_X_y=True)
    return _standard(x), y.astype(np.int64)


def thirds() -> Data:
    """How far a disease has come, in thirds: classes that overlap by nature."""
    x, y = datasets.load_diabetes(return_X_y=True)
    return _standard(x), np.digitize(y, np.quantile(y, [1 / 3, 2 / 3])).astype(np.int64)


def blobs() -> Data:
    x, y = datasets.make_blobs(1500, 12, centers=6, cluster_std=3.0, random_state=0)
    return _standard(x), y.astype(np.int64)


def texts() -> Data:
    """Token ids: each topic has words of its own, a third of a text."""
    draws = np.random.default_rng(0)
    y = draws.integers(0, 4, 1500)
    common, special = draws.integers(0, 300, (1500, 32)), 300 + 40 * y[:, None] + draws.integers(0, 40, (1500, 32))
    return np.where(draws.random((1500, 32)) < 0.35, special, common), y


SETS: dict[str, Callable[[], Data]] = {
    "wine": lambda: _bundled(datasets.load_wine),
    "tumours": lambda: _bundled(datasets.load_breast_cancer),
    "iris": lambda: _bundled(datasets.load_iris),
    "diabetes": thirds,
    "blobs": blobs,
    "texts": texts,
}


def split(name: str, seed: int) -> Sides:
    x, y = SETS[name]()
    order = np.random.default_rng(seed).permutation(len(y))
    cut = int((1 - VALIDATION) * len(y))
    return x[order[:cut]], y[order[:cut]], x[order[cut:]], y[order[cut:]]


def scanned(sides: Sides) -> ScanResult:
    torch.manual_seed(0)
    x, y, x_val, y_val = (torch.as_tensor(np.ascontiguousarray(part)) for part in sides)
    return sickbay.scan(DataLoader(TensorDataset(x, y), 32, shuffle=True), DataLoader(TensorDataset(x_val, y_val), 32), progress=lambda *_: None)


def noise(sides: Sides, draws: Any) -> tuple[str, set[int]]:
    _, y, *_ = sides
    wrong = draws.choice(len(y), int(SHARE * len(y)), replace=False)
    classes = int(y.max()) + 1
    y[wrong] = (y[wrong] + draws.integers(1, classes, len(wrong))) % classes
    return "label-noise", set(wrong.tolist())


def leaks(sides: Sides, draws: Any) -> tuple[str, set[int]]:
    x, y, x_val, y_val = sides
    copied = draws.choice(len(x_val), max(int(SHARE * len(x_val)), 1), replace=False)
    taken = draws.choice(len(x), len(copied), replace=False)
    x_val[copied], y_val[copied] = x[taken], y[taken]
    return "train-val-leakage", set(copied.tolist())


def holes(sides: Sides, draws: Any) -> tuple[str, set[int]]:
    x = sides[0]
    broken = draws.choice(len(x), int(SHARE * len(x)), replace=False)
    if x.dtype.kind != "f":
        return "", set()
    x[broken, draws.integers(0, x.shape[1], len(broken))] = np.nan
    return "nonfinite-input", set(broken.tolist())


def told(result: ScanResult, cause: str, planted: set[int]) -> str:
    """Precision and recall of one planting, and what else was called wrong."""
    mine = [f for f in result.wrong if f.cause == cause]
    found = {i for f in mine for i in f.indices}
    others = sorted({f.cause for f in result.wrong} - {cause})
    right = len(found & planted)
    text = f"{right / max(len(found), 1):.2f} / {right / max(len(planted), 1):.2f}" if mine else "not found"
    return text + (f" (also: {', '.join(others)})" if others else "")


def main() -> None:
    parser = argparse.ArgumentParser(description="What a scan finds in other data sets.")
    parser.add_argument("--only", choices=list(SETS))
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name in SETS if options.only is None else [options.only]:
        for seed in range(options.seeds):
            false = sorted({f.cause for f in scanned(split(name, seed)).wrong})
            print(f"{name:<9} {seed}  nothing planted: {', '.join(false) or 'healthy'}", flush=True)
            for plant in (noise, leaks, holes):
                sides = split(name, seed)
                cause, planted = plant(sides, np.random.default_rng(seed))
                if cause:
                    print(f"{name:<9} {seed}  {cause:<18} {told(scanned(sides), cause, planted)}", flush=True)


if __name__ == "__main__":
    main()
