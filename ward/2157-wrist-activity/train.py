import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

LENGTH = 64


def make_windows(n, rng):
    """Wrist accelerometer: 0 rest, 1 walk, 2 run, 3 typing."""
    t = np.arange(LENGTH) / 32
    kinds = rng.integers(0, 4, n)
    x = np.zeros((n, LENGTH), dtype="float32")
    for i, k in enumerate(kinds):
        phase = rng.uniform(0, 6.28)
        if k == 0:
            level = np.round(rng.normal(0, 0.02, LENGTH).cumsum() * rng.choice([1, 0.5]), 1)
            x[i] = 1.0 + level
        elif k == 3:
            x[i] = 1.0 + rng.normal(0, 0.05, LENGTH) * (rng.random(LENGTH) < 0.4)
        else:
            f = rng.uniform(1.4, 2.1) if k == 1 else rng.uniform(2.5, 3.4)
            x[i] = 1.0 + (0.3 if k == 1 else 0.9) * np.sin(2 * np.pi * f * t + phase) + rng.normal(0, 0.12, LENGTH)
    return torch.from_numpy(x), torch.from_numpy(kinds)


class WindowSet(Dataset):
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        w = self.x[i]
        w = (w - w.mean()) / w.std()
        return w.unsqueeze(0), self.y[i]


class ConvNet(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, width, 7, stride=2, padding=3), nn.ReLU(),
            nn.Conv1d(width, width, 5, stride=2, padding=2), nn.ReLU(),
            nn.Conv1d(width, width, 3, padding=1), nn.ReLU())
        self.head = nn.Linear(2 * width, 4)

    def forward(self, x):
        h = self.features(x)
        return self.head(torch.cat([h.mean(-1), h.amax(-1)], dim=1))


def run_epoch(model, loader, optimizer=None):
    model.train(optimizer is not None)
    total, hits = 0.0, 0
    with torch.set_grad_enabled(optimizer is not None):
        for x, y in loader:
            out = model(x)
            loss = nn.functional.cross_entropy(out, y)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(y)
            hits += (out.argmax(1) == y).sum().item()
    return total / len(loader.dataset), hits / len(loader.dataset)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--lr", type=float, default=2e-3)
    opts = ap.parse_args()
    torch.manual_seed(3)
    rng = np.random.default_rng(3)
    train = DataLoader(WindowSet(*make_windows(4000, rng)), batch_size=50, shuffle=True)
    held_out = DataLoader(WindowSet(*make_windows(1000, rng)), batch_size=200)
    model = ConvNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=opts.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, opts.epochs)
    for epoch in range(1, opts.epochs + 1):
        loss, acc = run_epoch(model, train, optimizer)
        scheduler.step()
        vloss, vacc = run_epoch(model, held_out)
        print(f"{epoch:2d} | train {loss:.4f} {acc:.3f} | held-out {vloss:.4f} {vacc:.3f}")
