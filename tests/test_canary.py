"""Values of samples stay where they are: a value that is planted in the data is in no record and no report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import sickbay

CANARY = 739412.625
"""Also exact as float32: its bytes can be looked for."""
WORD = "canary-of-the-mine"
SHOWN = ("739412", "7.39412", "739,412", WORD)
TRAIN = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x, y = torch.load("data.pt")
train_loader = DataLoader(TensorDataset(x[:300], y[:300]), batch_size=20, shuffle=True)
val_loader = DataLoader(TensorDataset(x[250:], y[250:]), batch_size=20)
model = nn.Linear(6, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(4):
    for a, b in train_loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(a), b).backward()
        optimizer.step()
    with torch.no_grad():
        for a, b in val_loader:
            nn.functional.cross_entropy(model(a), b)
"""


def data(planted: int) -> tuple[torch.Tensor, torch.Tensor]:
    draws = torch.Generator().manual_seed(0)
    x = torch.randn(400, 6, generator=draws)
    y = (x[:, 0] > 0).long()
    x[torch.randperm(400, generator=draws)[:planted], 3] = CANARY
    return x, y


def clean(content: bytes) -> bool:
    values = [np.array([CANARY], kind).tobytes() for kind in (np.float32, np.float64)]
    return not any(word.encode() in content for word in SHOWN) and not any(value in content for value in values)


@pytest.mark.parametrize("planted", [1, 20])
def test_a_run_and_its_reports(tmp_path: Path, planted: int) -> None:
    torch.save(data(planted), tmp_path / "data.pt")
    (tmp_path / "train.py").write_text(TRAIN, encoding="utf-8")
    command = [sys.executable, "-m", "sickbay", "run", "--runs", "runs", "--name", "it", "--json", "told.json", "train.py"]
    done = subprocess.run(command, cwd=tmp_path, env=dict(os.environ), capture_output=True, check=True)
    written = [f for f in (tmp_path / "runs").rglob("*") if f.is_file()] + [tmp_path / "told.json"]
    assert {f.suffix for f in written} >= {".sickbay", ".html", ".json"}
    assert [f.name for f in written if not clean(f.read_bytes())] == [] and clean(done.stdout + done.stderr)


def test_a_scan_and_an_evaluation() -> None:
    x, y = data(20)
    batches = [{"x": a, "y": b, "name": [WORD] * len(a)} for a, b in zip(x.split(20), y.split(20), strict=True)]
    for result in (sickbay.scan(batches), sickbay.scan(DataLoader(TensorDataset(x, y), 20, shuffle=True), DataLoader(TensorDataset(x, y), 20))):
        assert clean((str(result) + json.dumps(result.document()) + result.html()).encode())
    told = sickbay.evaluate(torch.nn.Linear(6, 2), DataLoader(TensorDataset(x, y), 20))
    assert clean((str(told) + json.dumps(told.to_dict()) + told._repr_html_()).encode())
