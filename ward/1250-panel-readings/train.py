"""Fault class of a solar panel from 24 inverter readings."""
import time

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

rng = np.random.default_rng(14)


def make_table(n=1200, d=24, classes=4):
    centres = rng.normal(size=(classes, d))
    y = rng.integers(0, classes, n)
    scale = rng.uniform(0.5, 60, d)
    offset = rng.normal(size=d) * 100
    return (centres[y] * 0.8 + rng.normal(size=(n, d))) * scale + offset, y


class Readings(Dataset):
    """Rows of the table in robust units: median and inter-quartile range of the first 600 rows."""

    def __init__(self, table, labels, reference):
        self.table = table
        self.labels = labels
        self.reference = reference

    def __len__(self):
        return len(self.labels)

    def robust(self, row):
        q25, q50, q75 = np.percentile(self.reference, [25, 50, 75], axis=0)
        return (row - q50) / (q75 - q25)

    def __getitem__(self, i):
        x = self.robust(self.table[i])
        return torch.tensor(x, dtype=torch.float32), int(self.labels[i])


def accuracy(net, ds):
    x, y = next(iter(DataLoader(ds, batch_size=len(ds))))
    net.eval()
    with torch.no_grad():
        return (net(x).argmax(1) == y).float().mean().item()


torch.manual_seed(14)
table, labels = make_table()
train_set = Readings(table[:1000], labels[:1000], table[:600])
val_set = Readings(table[1000:1200], labels[1000:1200], table[:600])
loader = DataLoader(train_set, batch_size=25, shuffle=True)
net = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 4))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(3):
    start, total = time.time(), 0.0
    net.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / len(loader):.4f}  {len(loader) / (time.time() - start):.0f} batches/s")
print(f"val acc {accuracy(net, val_set):.3f}")
