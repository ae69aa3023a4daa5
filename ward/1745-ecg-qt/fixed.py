"""Estimate the QT interval from a single heart beat (one ECG lead)."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

GAIN = 200.0  # converter counts per millivolt


def gauss(t, centre, width):
    return np.exp(-((t - centre) / width) ** 2)


def beat(qt, rng, length=96):
    """One beat in converter counts; the T wave ends qt seconds after the onset of the QRS complex."""
    t = np.linspace(-0.35, 0.55, length) + rng.normal(0, 0.012)
    r, tw = rng.uniform(0.8, 1.3), rng.uniform(0.045, 0.06)
    mv = (0.15 * gauss(t, -0.18, 0.03) - 0.1 * gauss(t, -0.03, 0.012) + r * gauss(t, 0, 0.015)
          - 0.2 * gauss(t, 0.035, 0.015) + rng.uniform(0.25, 0.45) * gauss(t, qt - 0.04 - 1.6 * tw, tw))
    mv = mv + 0.1 * np.sin(2 * np.pi * (rng.uniform(0.2, 0.4) * t + rng.random())) + rng.normal(0, 0.03, length)
    return np.round(mv * GAIN)


def recording(n, rng, contact):
    qt = rng.normal(0.40, 0.03, n).clip(0.30, 0.50)
    counts = np.stack([beat(q, rng) for q in qt])
    for i in rng.choice(n, round((1 - contact) * n), replace=False):
        start = rng.integers(0, 60)
        counts[i, start:start + rng.integers(15, 36)] = rng.choice([-32768, 32767])
    return counts.astype(np.int16), qt.astype(np.float32)


class QTNet(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, c, 9, stride=2, padding=4), nn.BatchNorm1d(c), nn.ReLU(),
            nn.Conv1d(c, 2 * c, 7, stride=2, padding=3), nn.BatchNorm1d(2 * c), nn.ReLU(),
            nn.Conv1d(2 * c, 2 * c, 5, stride=2, padding=2), nn.BatchNorm1d(2 * c), nn.ReLU())
        self.fc = nn.Sequential(nn.Flatten(), nn.Linear(2 * c * 12, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.fc(self.conv(x)).squeeze(1)


def tensors(counts, qt):
    x = torch.from_numpy(counts.astype(np.float32) / GAIN).unsqueeze(1)
    return TensorDataset(x, torch.from_numpy((qt - 0.40) / 0.03))


def fit(model, train_dl, val_dl, epochs=11, lr=1e-3):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    criterion = nn.MSELoss()
    for epoch in range(1, epochs + 1):
        model.train()
        losses = []
        for x, y in train_dl:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            out, y = (torch.cat(t) for t in zip(*[(model(x), y) for x, y in val_dl]))
        print(f"epoch {epoch:2d} | train mean {np.mean(losses):.4f} max {np.max(losses):.3f} "
              f"| val mse {criterion(out, y).item():.4f} mae {30 * (out - y).abs().mean():.2f} ms")


def main():
    rng = np.random.default_rng(50)
    torch.manual_seed(50)
    counts, qt = recording(2400, rng, contact=0.996)
    good = np.abs(counts.astype(np.int32)).max(axis=1) < 32767
    counts, qt = counts[good], qt[good]
    val_counts, val_qt = recording(600, rng, contact=1.0)  # measured by hand
    train_dl = DataLoader(tensors(counts, qt), batch_size=32, shuffle=True)
    val_dl = DataLoader(tensors(val_counts, val_qt), batch_size=200)
    fit(QTNet(), train_dl, val_dl)


if __name__ == "__main__":
    main()
