"""Trials of scripts that a framework drives: the cure reaches them, and their checkpoints and logs stay as they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Sickbay
from sickbay.trials.storage import load_trials

LIGHTNING = """
import torch
import lightning as L
from torch import nn

class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4), nn.Softmax(dim=1))

    def training_step(self, batch, index):
        loss = nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        self.log("train_loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=3e-3)

L.seed_everything(0)
x = torch.randn(512, 8)
data = torch.utils.data.TensorDataset(x, x[:, :4].argmax(1))
trainer = L.Trainer(max_epochs=6, accelerator="cpu", logger=L.pytorch.loggers.CSVLogger("logs"), enable_progress_bar=False, log_every_n_steps=5)
trainer.fit(Net(), torch.utils.data.DataLoader(data, 32, shuffle=True))
"""
TRANSFORMERS = """
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed

set_seed(0)
x = torch.randint(0, 50, (256, 8))
data = [{"input_ids": a, "labels": b} for a, b in zip(x, (x[:, 0] > 25).long())]
config = BertConfig(vocab_size=50, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, max_position_embeddings=16)
arguments = TrainingArguments(
    "out", max_steps=60, per_device_train_batch_size=16, save_steps=30, logging_steps=10, report_to=[], use_cpu=True, learning_rate=1e-3, disable_tqdm=True
)
Trainer(BertForSequenceClassification(config), arguments, train_dataset=data).train()
"""


def files(folder: Path) -> dict[str, int]:
    return {str(p.relative_to(folder)): p.stat().st_mtime_ns for p in folder.rglob("*") if ".sickbay" not in p.parts and p.is_file()}


@pytest.mark.parametrize(
    ("package", "script", "treat", "effect", "kept"),
    [("lightning", LIGHTNING, "feed-logits", "CURED", "metrics.csv"), ("transformers", TRANSFORMERS, "lr=x0.001", "HARMED", "model.safetensors")],
)
def test_frameworks(package: str, script: str, treat: str, effect: str, kept: str, tmp_path: Path, sickbay: Sickbay) -> None:
    pytest.importorskip(package)
    (tmp_path / "train.py").write_text(script)
    assert sickbay("run", "--quiet", "--name", "run", "train.py").returncode == 0
    before = files(tmp_path)
    assert any(Path(name).name == kept for name in before)
    done = sickbay("try", "run", "--treat", treat)
    assert done.returncode == 0, done.stderr
    (trial,) = load_trials(tmp_path / ".sickbay/runs/run")
    assert trial.effect in (effect, "HELPED"), trial.text
    assert files(tmp_path) == before
    assert any(Path(name).name == kept for name in trial.fenced)
