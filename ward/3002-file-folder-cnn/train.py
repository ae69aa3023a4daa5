import csv
import os
import tempfile

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def export(folder):
    """Write every scan as its own file and one csv with the annotation, as the lab delivers them."""
    bunch = load_digits()
    pick = np.random.RandomState(8).permutation(len(bunch.images))
    os.makedirs(os.path.join(folder, "scans"))
    with open(os.path.join(folder, "labels.csv"), "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["scan", "digit"])
        for number, i in enumerate(pick):
            np.save(os.path.join(folder, "scans", f"scan_{number}.npy"), bunch.images[i].astype("float32"))
            out.writerow([number, bunch.target[i]])


def read(folder):
    names = sorted(os.listdir(os.path.join(folder, "scans")))
    scans = np.stack([np.load(os.path.join(folder, "scans", name)) for name in names])
    with open(os.path.join(folder, "labels.csv")) as f:
        digits = [int(row["digit"]) for row in csv.DictReader(f)]
    assert len(scans) == len(digits)
    return torch.from_numpy(scans)[:, None] / 8 - 1, torch.tensor(digits)


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU())


with tempfile.TemporaryDirectory() as root:
    export(root)
    images, digits = read(root)
print("scans", tuple(images.shape), "annotations", len(digits))

torch.manual_seed(8)
train = TensorDataset(images[:1450], digits[:1450])
valid = TensorDataset(images[1450:], digits[1450:])
train_loader = DataLoader(train, batch_size=50, shuffle=True)
valid_loader = DataLoader(valid, batch_size=347)

net = nn.Sequential(conv(1, 32), conv(32, 32), nn.MaxPool2d(2), conv(32, 64), nn.MaxPool2d(2), nn.Flatten(),
                    nn.Dropout(0.25), nn.Linear(64 * 4, 10))
optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-2)
criterion = nn.CrossEntropyLoss()

for epoch in range(14):
    net.train()
    seen = hits = 0
    running = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        out = net(x)
        loss = criterion(out, y)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(y)
        hits += (out.argmax(1) == y).sum().item()
        seen += len(y)
    net.eval()
    with torch.no_grad():
        for x, y in valid_loader:
            out = net(x)
            print(f"epoch {epoch:2d}: loss {running / seen:.3f} acc {hits / seen:.3f} | "
                  f"val loss {criterion(out, y).item():.3f} acc {(out.argmax(1) == y).float().mean().item():.3f}")
