"""Real trainers of the libraries that people use, under `sickbay run`: the right cause, on the user's own line; silence where all is well."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Sickbay

LIGHTNING = """\
import lightning as L
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class Digits(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 10))

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, index):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        self.log("val_loss", F.cross_entropy(self(x), y))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 3e-3)


L.seed_everything(0)
x, y = load_digits(return_X_y=True)
x, y = torch.tensor(x, dtype=torch.float32) / 16, torch.tensor(y)
order = torch.randperm(len(x))
x, y = x[order], y[order]
train = DataLoader(TensorDataset(x[:1400], y[:1400]), batch_size=64, shuffle=True)
valid = DataLoader(TensorDataset(x[1400:], y[1400:]), batch_size=128)
trainer = L.Trainer(max_epochs=5, enable_progress_bar=False, logger=False, enable_checkpointing=False, accelerator="cpu")
trainer.fit(Digits(), train, valid)
"""
MANUAL = """\
        self.manual_backward(loss)
        self.optimizers().step()

    automatic_optimization = False
"""
"""Manual optimization: Lightning hands the optimizer an empty closure."""
TRANSFORMERS = """\
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed

set_seed(0)
config = BertConfig(
    vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, max_position_embeddings=16, num_labels=2
)
model = BertForSequenceClassification(config)
ids = torch.randint(3, 50, (1200, 12))
labels = (ids[:, 0] > 25).long()
rows = [{"input_ids": i, "attention_mask": torch.ones(12, dtype=torch.long), "labels": y} for i, y in zip(ids, labels)]
options = TrainingArguments(
    "out", num_train_epochs=4, per_device_train_batch_size=32, learning_rate=1e-3, report_to=[], save_strategy="no", eval_strategy="epoch",
    use_cpu=True, disable_tqdm=True,
)
Trainer(model=model, args=options, train_dataset=rows[:1000], eval_dataset=rows[1000:]).train()
"""
ACCELERATE = """\
import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

accelerator = Accelerator(cpu=True)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.SGD(model.parameters(), 0.2)
x = torch.randn(1024, 10)
loader = DataLoader(TensorDataset(x, (x[:, 0] + 0.3 * x[:, 1] > 0).long()), batch_size=32, shuffle=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for epoch in range(4):
    for a, b in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(a), b)
        accelerator.backward(loss)
        optimizer.step()
    print(epoch, loss.item())
"""


def diagnosis(sickbay: Sickbay, folder: Path, script: str, *before: str) -> dict[str, Any]:
    (folder / "train.py").write_text(script)
    done = sickbay("run", "--json", "d.json", *before, "train.py", timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    document: dict[str, Any] = json.loads((folder / "d.json").read_text())
    return document


def line_of(script: str, text: str) -> int:
    return next(i for i, line in enumerate(script.splitlines(), start=1) if text in line)


@pytest.mark.parametrize("script", [LIGHTNING, TRANSFORMERS, ACCELERATE], ids=["lightning", "transformers", "accelerate"])
def test_a_healthy_trainer_is_healthy(sickbay: Sickbay, tmp_path: Path, script: str) -> None:
    found = diagnosis(sickbay, tmp_path, script)
    assert found["verdict"] == "healthy", found["diagnoses"]
    assert found["run"]["steps"] >= 100
    assert not [n for n in found["not_checked"] if "failed" in n["why"]]


@pytest.mark.parametrize(
    ("script", "well", "ill", "cause", "line"),
    [
        (LIGHTNING, "return self.net(x)", "return torch.softmax(self.net(x), dim=1)", "softmax-before-cross-entropy", "torch.softmax"),
        (LIGHTNING, "Adam(self.parameters(), 3e-3)", "Adam(self.net[0].parameters(), 3e-3)", "optimizer-missing-parameters", "torch.optim.Adam"),
        (LIGHTNING, "        return loss\n", MANUAL, "missing-zero-grad", "self.manual_backward"),
        (TRANSFORMERS, "learning_rate=1e-3", "learning_rate=1e-8", "lr-too-low", None),
        (ACCELERATE, "        optimizer.zero_grad()\n", "", "missing-zero-grad", "accelerator.backward"),
    ],
    ids=["lightning: softmax", "lightning: half an optimizer", "lightning: manual, zero_grad", "transformers: rate", "accelerate: zero_grad"],
)
def test_a_sick_one_is_found_on_the_users_line(
    sickbay: Sickbay, tmp_path: Path, script: str, well: str, ill: str, cause: str, line: str | None
) -> None:
    sick = script.replace(well, ill)
    assert sick != script
    found = diagnosis(sickbay, tmp_path, sick)
    first = found["diagnoses"][0]
    assert (found["verdict"], first["cause"]) == ("sick", cause)
    if line is not None:
        assert (Path(first["place"]["file"]).name, first["place"]["line"]) == ("train.py", line_of(sick, line))


def test_accelerate_launch(sickbay: Sickbay, tmp_path: Path) -> None:
    found = diagnosis(sickbay, tmp_path, ACCELERATE, "accelerate", "launch", "--cpu", "--num_processes", "1")
    assert found["verdict"] == "healthy" and found["run"]["steps"] == 128


def test_accelerate_loads_a_batch_ahead_and_the_right_sample_is_named(sickbay: Sickbay, tmp_path: Path) -> None:
    sick = ACCELERATE.replace("x = torch.randn(1024, 10)\n", "x = torch.randn(1024, 10)\nx[777, 3] = float('nan')\n")
    first = diagnosis(sickbay, tmp_path, sick)["diagnoses"][0]
    assert first["cause"] == "nonfinite-input"
    assert "sample 777 of the data set" in first["evidence"][0]["text"]
