"""Train a small CNN on a folder of scanned digits (one .npy per scan, labels.csv next to them)."""
import csv
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


def export(folder):
    """Write the scans the way the scanner does."""
    bunch = load_digits()
    order = np.random.RandomState(4).permutation(len(bunch.target))
    with open(folder / "labels.csv", "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["scan", "label"])
        for i, k in enumerate(order):
            np.save(folder / f"scan_{i}.npy", bunch.images[k].astype("uint8"))
            out.writerow([f"scan_{i}", int(bunch.target[k])])


def read(folder):
    files = sorted(folder.glob("scan_*.npy"))
    images = np.stack([np.load(f) for f in files])
    with open(folder / "labels.csv", newline="") as f:
        labels = [int(row["label"]) for row in csv.DictReader(f)]
    x = torch.from_numpy(images).float().div(8).sub(1).unsqueeze(1)
    return x, torch.tensor(labels)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 16, 3, padding=1)
        self.c2 = nn.Conv2d(16, 32, 3, padding=1)
        self.drop = nn.Dropout(0.25)
        self.fc = nn.Linear(32 * 4 * 4, 10)

    def forward(self, x):
        x = F.relu(self.c1(x))
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.fc(self.drop(x.flatten(1)))


def main():
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as tmp:
        export(Path(tmp))
        x, y = read(Path(tmp))
    train = DataLoader(TensorDataset(x[:1300], y[:1300]), batch_size=32, shuffle=True)
    val = DataLoader(TensorDataset(x[1300:], y[1300:]), batch_size=256)
    net = Net()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=1e-3)
    for epoch in range(1, 26):
        net.train()
        total = 0.0
        for xb, yb in train:
            opt.zero_grad()
            loss = F.cross_entropy(net(xb), yb)
            loss.backward()
            opt.step()
            total += loss.item() * len(xb)
        net.eval()
        vloss = hits = 0
        with torch.no_grad():
            for xb, yb in val:
                out = net(xb)
                vloss += F.cross_entropy(out, yb, reduction="sum").item()
                hits += (out.argmax(1) == yb).sum().item()
        n = len(val.dataset)
        print(f"epoch {epoch:02d}  train {total / 1300:.4f}  val {vloss / n:.4f}  acc {hits / n:.3f}")


if __name__ == "__main__":
    main()
