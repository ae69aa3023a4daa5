"""Which samples are named when one in twenty is bad: digits (8 by 8 pictures) with rows of NaN, outlying rows, copies in validation, or wrong labels.

python -m bench.planted              precision and recall of the named indices, of `sickbay scan` and of `sickbay run` (record, then diagnosis)
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

import sickbay
from bench.memory import ROOT
from sickbay.facts import Facts
from sickbay.runs import open_run
from sickbay.scans import ScanResult

SHARE, CUT = 0.05, 1400
PLANTED = {"nan": "nonfinite-input", "outliers": "corrupt-samples", "leaks": "train-val-leakage", "labels": "label-noise"}
SCRIPT = """
import sys, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x, y, x_val, y_val = torch.load(sys.argv[1])
train_loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
val_loader = DataLoader(TensorDataset(x_val, y_val), batch_size=64)
model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(6):
    model.train()
    for images, labels in train_loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = sum(int((model(a).argmax(1) == b).sum()) for a, b in val_loader)
        held_out = sum(float(nn.functional.cross_entropy(model(a), b)) for a, b in val_loader) / len(val_loader)
    print(f"epoch {epoch} val_loss {held_out:.3f} accuracy {right / len(x_val):.3f}")
"""


def planted(what: str, seed: int) -> tuple[list[Any], set[int]]:
    """Training and validation data, and the bad samples (of validation, where they are copies)."""
    draws = np.random.default_rng(seed)
    pixels, labels = load_digits(return_X_y=True)
    order = draws.permutation(len(labels))
    pixels, labels = (pixels[order] / 16).astype(np.float32).reshape(-1, 1, 8, 8), labels[order]
    x, y, x_val, y_val = pixels[:CUT].copy(), labels[:CUT].copy(), pixels[CUT:].copy(), labels[CUT:].copy()
    rows = draws.choice(len(x_val if what == "leaks" else x), int(SHARE * len(x_val if what == "leaks" else x)), replace=False)
    if what == "nan":
        x[rows, 0, draws.integers(0, 8, len(rows)), draws.integers(0, 8, len(rows))] = np.nan
    elif what == "outliers":
        x[rows] *= 1000  # a unit that slipped
    elif what == "leaks":
        taken = draws.choice(len(x), len(rows), replace=False)
        x_val[rows], y_val[rows] = x[taken], y[taken]
    else:
        y[rows] = (y[rows] + draws.integers(1, 10, len(rows))) % 10
    return [torch.from_numpy(part) for part in (x, y, x_val, y_val)], set(rows.tolist())


def by_scan(data: list[Any], cause: str) -> tuple[str, set[int]]:
    torch.manual_seed(0)
    x, y, x_val, y_val = data
    result: ScanResult = sickbay.scan(
        DataLoader(TensorDataset(x, y), 32, shuffle=True), DataLoader(TensorDataset(x_val, y_val), 64), progress=lambda *_: None
    )
    return ", ".join(sorted({f.cause for f in result.wrong})) or "healthy", {i for f in result.wrong if f.cause == cause for i in f.indices}


def by_run(data: list[Any], cause: str) -> tuple[str, set[int]]:
    """The causes that the diagnosis names, and the samples that the record has for this one."""
    with tempfile.TemporaryDirectory(prefix="sickbay-planted-") as folder:
        at = Path(folder)
        torch.save(data, at / "data.pt")
        (at / "train.py").write_text(SCRIPT, encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "sickbay",
            "run",
            "--runs",
            "runs",
            "--name",
            "planted",
            "--json",
            "told.json",
            "--no-html",
            "--quiet",
            "train.py",
            "data.pt",
        ]
        paths = os.pathsep.join(p for p in (str(ROOT / "src"), os.environ.get("PYTHONPATH", "")) if p)
        subprocess.run(command, cwd=at, check=True, capture_output=True, env=os.environ | {"PYTHONPATH": paths})
        document = json.loads((at / "told.json").read_text(encoding="utf-8"))
        facts = open_run(at / "runs" / "planted").facts
    causes = [s["cause"] for s in document["diagnoses"]]
    return ", ".join(causes) or "healthy", _samples(facts, cause) if cause in causes else set()


def _samples(facts: Facts, cause: str) -> set[int]:
    probe = facts.data_probe
    if cause == "label-noise":
        return set(probe.suspects.indices) if probe is not None and probe.suspects is not None else set()
    if cause == "nonfinite-input":
        return {i for batch in facts.nonfinite for i in batch.found}
    if cause == "train-val-leakage":
        return {i for data in facts.evaluation_data for i in data.samples}
    if cause == "corrupt-samples":
        return set(probe.outlying.indices) if probe is not None and probe.outlying is not None else set()
    return set()


def told(found: set[int], bad: set[int]) -> str:
    right = len(found & bad)
    return f"precision {right / len(found):.2f}, recall {right / len(bad):.2f}" if found else "no sample named"


def main() -> None:
    parser = argparse.ArgumentParser(description="Which samples are named when one in twenty is bad.")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", choices=list(PLANTED))
    parser.add_argument("--by", choices=["scan", "run"])
    options = parser.parse_args()
    torch.set_num_threads(1)
    for what, cause in PLANTED.items():
        for seed in range(options.seeds if options.only in (None, what) else 0):
            data, bad = planted(what, seed)
            for name, ask in (("scan", by_scan), ("run", by_run)):
                if options.by in (None, name):
                    causes, found = ask(data, cause)
                    print(f"{what:<9} {seed} {name:<5} {told(found, bad):<32} {causes}", flush=True)


if __name__ == "__main__":
    main()
