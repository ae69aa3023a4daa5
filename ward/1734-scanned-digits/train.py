import csv
import tempfile
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset


def export(root):
    """One file per scan and an index with the transcriptions, the way the scanning office delivers them."""
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    (root / "scans").mkdir()
    with open(root / "index.csv", "w", newline="") as fh:
        writer = csv.writer(fh)
        writer.writerow(["scan", "digit"])
        for n, i in enumerate(order):
            np.save(root / "scans" / f"scan_{n}.npy", digits.images[i].astype("float32"))
            writer.writerow([n, digits.target[i]])


class ScanDataset(Dataset):
    def __init__(self, root):
        self.files = sorted((root / "scans").glob("*.npy"))
        with open(root / "index.csv") as fh:
            self.labels = [int(row["digit"]) for row in csv.DictReader(fh)]
        assert len(self.files) == len(self.labels)
        self.images = torch.stack([torch.from_numpy(np.load(f)) for f in self.files]).unsqueeze(1) / 16 - 0.3

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        return self.images[i], self.labels[i]


class LeNetish(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 24, 3), nn.ReLU(), nn.MaxPool2d(2))
        self.fc = nn.Sequential(nn.Flatten(), nn.Linear(24 * 9, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 10))

    def forward(self, x):
        return self.fc(self.conv(x))


def one_epoch(model, loader, loss_fn, optimizer=None):
    training = optimizer is not None
    model.train(training)
    total, right, seen = 0.0, 0, 0
    with torch.set_grad_enabled(training):
        for x, y in loader:
            out = model(x)
            loss = loss_fn(out, y)
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(y)
            right += (out.argmax(1) == y).sum().item()
            seen += len(y)
    return total / seen, right / seen


def main():
    torch.manual_seed(4)
    with tempfile.TemporaryDirectory() as tmp:
        export(Path(tmp))
        data = ScanDataset(Path(tmp))
    idx = torch.randperm(len(data)).tolist()
    train_dl = DataLoader(Subset(data, idx[:1400]), batch_size=32, shuffle=True)
    val_dl = DataLoader(Subset(data, idx[1400:]), batch_size=200)

    model, loss_fn = LeNetish(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9, weight_decay=5e-4)
    for epoch in range(1, 13):
        tl, ta = one_epoch(model, train_dl, loss_fn, optimizer)
        vl, va = one_epoch(model, val_dl, loss_fn)
        print(f"epoch {epoch:2d}: train {tl:.3f} / {ta:.3f}   val {vl:.3f} / {va:.3f}")


main()
