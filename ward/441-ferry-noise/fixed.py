"""Which of five ferries passes the hydrophone: spectra of 64 bins, a small convolutional net."""
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    epochs: int = 16
    batch_size: int = 160
    lr: float = 0.004
    momentum: float = 0.95


def passages(n, rng):
    ferry = rng.integers(0, 5, n)
    bins = np.arange(64)
    tone = 8 + 9 * ferry[:, None] + rng.normal(0, 1.5, (n, 1))
    spectrum = np.exp(-0.5 * ((bins - tone) / 2.0) ** 2) + 0.6 * np.exp(-0.5 * ((bins - 1.6 * tone) / 3.0) ** 2)
    spectrum = spectrum + 0.35 * rng.standard_normal((n, 64))
    return TensorDataset(torch.tensor(spectrum, dtype=torch.float32).unsqueeze(1), torch.tensor(ferry))


class FerryNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(1, 8, 7, padding=3), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(8, 16, 5, padding=2), nn.ReLU())
        self.head = nn.Linear(16 * 32, 5)

    def forward(self, x):
        return self.head(self.conv(x).flatten(1))


class Trainer:
    def __init__(self, config):
        self.config = config
        self.net = FerryNet()
        self.opt = torch.optim.SGD(self.net.parameters(), lr=config.lr, momentum=config.momentum)
        rng = np.random.default_rng(8)
        self.train_loader = DataLoader(passages(960, rng), batch_size=config.batch_size, shuffle=True)
        self.test_loader = DataLoader(passages(400, rng), batch_size=400)

    def run_epoch(self):
        self.net.train()
        total = 0.0
        for x, y in self.train_loader:
            self.opt.zero_grad()
            loss = nn.functional.cross_entropy(self.net(x), y)
            loss.backward()
            self.opt.step()
            total += loss.item()
        return total / len(self.train_loader)

    @torch.no_grad()
    def accuracy(self):
        self.net.eval()
        return np.mean([(self.net(x).argmax(1) == y).float().mean().item() for x, y in self.test_loader])


if __name__ == "__main__":
    torch.manual_seed(11)
    trainer = Trainer(Config())
    for epoch in range(trainer.config.epochs):
        loss = trainer.run_epoch()
        print(f"[{epoch + 1:02d}] loss={loss:.4f} acc={trainer.accuracy():.3f}")
