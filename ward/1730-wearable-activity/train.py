"""Activity recognition from a wrist-worn IMU (6 channels, 50 Hz, windows of 64 samples)."""
import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

ACTIVITIES = ["rest", "walk", "run", "cycle", "stairs"]
# cadence in Hz, swing of the accelerometer in g, swing of the gyroscope in rad/s
PROFILE = {"rest": (0.2, 0.010, 0.015), "walk": (1.9, 0.35, 1.2), "run": (2.8, 0.9, 2.5), "cycle": (0.9, 0.20, 0.6),
           "stairs": (1.4, 0.5, 0.9)}
LSB = 1 / 32  # resolution of the 12-bit converter after range selection


def record(activity, rng, length=64):
    cadence, acc, gyro = PROFILE[activity]
    t = np.arange(length) / 50
    f = cadence * rng.uniform(0.92, 1.08)
    rows = []
    for ch in range(6):
        swing = (acc if ch < 3 else gyro) * rng.uniform(0.6, 1.4)
        phase = rng.uniform(0, 2 * np.pi)
        sig = swing * np.sin(2 * np.pi * f * t + phase) + 0.4 * swing * np.sin(4 * np.pi * f * t + 2 * phase)
        rows.append(sig + rng.normal(0, 0.008 if activity == "rest" else 0.12, length) + rng.uniform(-0.5, 0.5))
    return np.round(np.stack(rows) / LSB) * LSB


class ImuWindows(Dataset):
    def __init__(self, per_class, seed):
        rng = np.random.default_rng(seed)
        self.items = [(record(a, rng).astype("float32"), k) for k, a in enumerate(ACTIVITIES) for _ in range(per_class)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        window, label = self.items[i]
        w = torch.from_numpy(window)
        # orientation and gain differ between wearers: normalise every window by itself
        w = (w - w.mean(dim=1, keepdim=True)) / w.std(dim=1, keepdim=True)
        return w, label


class ConvNet(nn.Module):
    def __init__(self, channels=6, classes=5, width=24):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(channels, width, 7, padding=3), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(width, 2 * width, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(2 * width, 2 * width, 3, padding=1), nn.ReLU())
        self.classify = nn.Sequential(nn.Dropout(0.2), nn.Linear(2 * width, classes))

    def forward(self, x):
        return self.classify(self.features(x).mean(dim=2))


def evaluate(model, loader, criterion):
    model.eval()
    loss = hits = n = 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            loss += criterion(out, y).item() * len(y)
            hits += (out.argmax(1) == y).sum().item()
            n += len(y)
    return loss / n, hits / n


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=16)
    p.add_argument("--batch-size", type=int, default=50)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=3)
    args = p.parse_args()
    torch.manual_seed(args.seed)

    train_dl = DataLoader(ImuWindows(300, seed=1), batch_size=args.batch_size, shuffle=True)
    val_dl = DataLoader(ImuWindows(80, seed=2), batch_size=200)
    model = ConvNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    for epoch in range(1, args.epochs + 1):
        model.train()
        running = 0.0
        for x, y in train_dl:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            running += loss.item()
        vl, va = evaluate(model, val_dl, criterion)
        print(f"epoch {epoch:2d}/{args.epochs} train loss {running / len(train_dl):.4f} val loss {vl:.4f} val acc {va:.3f}")


if __name__ == "__main__":
    main()
