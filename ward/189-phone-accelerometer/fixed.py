"""Activity recognition from a phone's accelerometer (1-d convolutions, optional mixed precision)."""
import math
from dataclasses import dataclass, field

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class TrainConfig:
    epochs: int = 4
    batch_size: int = 50
    lr: float = 2e-3
    mixed_precision: bool = False
    grad_clip: float = 2.0
    activities: list = field(default_factory=lambda: ["sitting", "walking", "running", "stairs", "cycling"])


def recordings(n, seed):
    g = torch.Generator().manual_seed(seed)
    kind = torch.randint(0, 5, (n,), generator=g)
    t = torch.arange(48) / 16
    freq = torch.tensor([0.3, 1.8, 2.8, 1.4, 1.0])[kind] * (1 + 0.05 * torch.randn(n, generator=g))
    strength = torch.tensor([0.1, 1.0, 1.8, 0.9, 0.6])[kind]
    phase = 2 * math.pi * torch.rand(n, 3, 1, generator=g)
    wave = torch.sin(2 * math.pi * freq[:, None, None] * t + phase) * strength[:, None, None]
    return wave + 0.6 * torch.randn(n, 3, 48, generator=g), kind


class ActivityNet(nn.Module):
    def __init__(self, n_out):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(3, 16, 7, padding=3), nn.GroupNorm(4, 16), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(16, 24, 5, padding=2), nn.GroupNorm(4, 24), nn.ReLU(), nn.AdaptiveAvgPool1d(4))
        self.head = nn.Linear(24 * 4, n_out)

    def forward(self, x):
        return self.head(self.layers(x).flatten(1))


class Trainer:
    def __init__(self, model, cfg):
        self.model, self.cfg = model, cfg
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=1e-2)
        self.scaler = torch.amp.GradScaler("cpu", enabled=cfg.mixed_precision)

    def training_step(self, x, y):
        self.optimizer.zero_grad()
        with torch.autocast("cpu", enabled=self.cfg.mixed_precision):
            loss = self.criterion(self.model(x), y)
        if self.cfg.mixed_precision:
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.optimizer)
        else:
            loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.grad_clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.item()

    def fit(self, train_dl, val_dl):
        for epoch in range(self.cfg.epochs):
            self.model.train()
            losses = [self.training_step(x, y) for x, y in train_dl]
            val_loss, val_acc = self.evaluate(val_dl)
            print(f"epoch={epoch} loss={sum(losses) / len(losses):.4f} val_loss={val_loss:.4f} val_acc={val_acc:.3f}")

    @torch.no_grad()
    def evaluate(self, dl):
        self.model.eval()
        out = [(self.model(x), y) for x, y in dl]
        logits, y = torch.cat([o for o, _ in out]), torch.cat([t for _, t in out])
        return self.criterion(logits, y).item(), (logits.argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(9)
    cfg = TrainConfig()
    train_dl = DataLoader(TensorDataset(*recordings(2000, 1)), cfg.batch_size, shuffle=True)
    val_dl = DataLoader(TensorDataset(*recordings(500, 2)), 250)
    Trainer(ActivityNet(len(cfg.activities)), cfg).fit(train_dl, val_dl)


if __name__ == "__main__":
    main()
