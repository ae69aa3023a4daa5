"""Which kind of wave is it? A 1-d convolutional net in Lightning with manual optimization (two learning rates)."""

import logging
import math
import warnings

import lightning.pytorch as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


def waves(n, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.linspace(0, 1, 64)
    kind = torch.randint(4, (n,), generator=g)
    freq = 2 + 6 * torch.rand(n, 1, generator=g)
    phase = 2 * math.pi * torch.rand(n, 1, generator=g)
    angle = 2 * math.pi * freq * t + phase
    shapes = torch.stack([angle.sin(), angle.sin().sign(), 2 * ((angle / (2 * math.pi)) % 1) - 1, angle.sin().abs() * 2 - 1])
    x = shapes[kind, torch.arange(n)] + 0.3 * torch.randn(n, 64, generator=g)
    return x.unsqueeze(1), kind


class WaveNet(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.body = nn.Sequential(
            nn.Conv1d(1, 16, 7, padding=3), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(16, 32, 5, padding=2), nn.ReLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten()
        )
        self.head = nn.Linear(128, 4)
        self.loss = nn.CrossEntropyLoss()

    def forward(self, x):
        return self.head(self.body(x))

    def training_step(self, batch, batch_idx):
        opt = self.optimizers()
        x, y = batch
        loss = self.loss(self(x), y)
        opt.zero_grad()
        self.manual_backward(loss)
        opt.step()
        self.log("train_loss", loss, on_step=False, on_epoch=True)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        out = self(x)
        self.log("val_loss", self.loss(out, y))
        self.log("val_acc", (out.argmax(1) == y).float().mean())

    def on_train_epoch_end(self):
        print({k: round(float(v), 3) for k, v in self.trainer.callback_metrics.items()})

    def configure_optimizers(self):
        return torch.optim.SGD([{"params": self.body.parameters()}, {"params": self.head.parameters(), "lr": 0.1}], lr=0.05, momentum=0.9)


if __name__ == "__main__":
    pl.seed_everything(11)
    trainer = pl.Trainer(
        max_epochs=8,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )
    trainer.fit(
        WaveNet(),
        DataLoader(TensorDataset(*waves(1600, 1)), batch_size=32, shuffle=True),
        DataLoader(TensorDataset(*waves(500, 2)), batch_size=250),
    )
