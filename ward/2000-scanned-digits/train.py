"""Train a small convnet on a folder of scanned digits plus a labels.csv."""
import argparse
import csv
import tempfile
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset


def export_scans(folder: Path):
    """Write the scans the way the scanner software does: scan_<n>.npy and a csv with one row per scan."""
    digits = load_digits()
    order = np.random.default_rng(5).permutation(len(digits.images))
    with open(folder / "labels.csv", "w", newline="") as f:
        writer = csv.writer(f)
        writer.writerow(["scan", "digit"])
        for n, i in enumerate(order):
            np.save(folder / f"scan_{n}.npy", digits.images[i].astype(np.float32))
            writer.writerow([n, int(digits.target[i])])


class ScanFolder(Dataset):
    def __init__(self, folder: Path):
        self.paths = sorted(folder.glob("scan_*.npy"))
        with open(folder / "labels.csv", newline="") as f:
            self.digits = [int(row["digit"]) for row in csv.DictReader(f)]
        assert len(self.paths) == len(self.digits)
        self.images = torch.stack([torch.from_numpy(np.load(p)) for p in self.paths]).unsqueeze(1) / 16.0

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        return (self.images[i] - 0.3) / 0.38, self.digits[i]


def build():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.25), nn.Linear(32 * 4 * 4, 10),
    )


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    loss, hits, n = 0.0, 0, 0
    for x, y in loader:
        out = model(x)
        loss += nn.functional.cross_entropy(out, y, reduction="sum").item()
        hits += (out.argmax(1) == y).sum().item()
        n += len(y)
    return loss / n, hits / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=15)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()
    torch.manual_seed(args.seed)

    with tempfile.TemporaryDirectory() as tmp:
        export_scans(Path(tmp))
        data = ScanFolder(Path(tmp))
    split = torch.randperm(len(data)).tolist()
    train_loader = DataLoader(Subset(data, split[:1300]), batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(Subset(data, split[1300:]), batch_size=256)

    model = build()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(1, args.epochs + 1):
        model.train()
        total = 0.0
        for x, y in train_loader:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            opt.step()
            total += loss.item()
        val_loss, val_acc = evaluate(model, val_loader)
        print(f"epoch {epoch:2d} train {total / len(train_loader):.3f} val {val_loss:.3f} acc {val_acc:.3f}")


if __name__ == "__main__":
    main()
