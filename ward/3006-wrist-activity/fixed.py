"""Recognise four activities from a wrist accelerometer (3 axes, 25 Hz)."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

WINDOW, STRIDE = 50, 10


def record(person, rng, minutes=1.2):
    """One recording per person: the activities one after another."""
    tempo, tilt, gain = person
    xs, ys = [], []
    for label in range(4):
        n = int(minutes * 60 * 25 / 4)
        t = np.arange(n) / 25
        drift = np.cumsum(rng.normal(0, 0.035, (n, 3)), 0)
        freq = [0.0, 1.6, 2.1, 2.6][label] * tempo
        amp = [0.0, 0.8, 1.0, 1.3][label] * gain
        wave = np.stack([amp * np.sin(2 * np.pi * freq * t), 0.6 * amp * np.sin(4 * np.pi * freq * t + 0.7),
                         amp * np.cos(2 * np.pi * freq * t)], 1)
        xs.append(wave + drift + tilt + rng.normal(0, 0.25, (n, 3)))
        ys.append(np.full(n, label))
    return np.concatenate(xs).astype("float32"), np.concatenate(ys)


def windows(x, y):
    cuts, labels = [], []
    for start in range(0, len(x) - WINDOW + 1, STRIDE):
        part = y[start:start + WINDOW]
        if (part == part[0]).all():
            cuts.append(x[start:start + WINDOW].T)
            labels.append(part[0])
    return np.stack(cuts), np.array(labels)


def people(n, rng):
    return [(rng.uniform(0.91, 1.09), rng.uniform(-0.8, 0.8, 3), rng.uniform(0.78, 1.22)) for _ in range(n)]


rng = np.random.default_rng(7)
torch.manual_seed(7)
cut = [windows(*record(p, rng)) for p in people(70, rng)]
X = np.concatenate([c for c, _ in cut])
Y = np.concatenate([l for _, l in cut])
person = np.concatenate([np.full(len(l), k) for k, (_, l) in enumerate(cut)])
val_ids, train_ids = np.flatnonzero(person % 5 == 0), np.flatnonzero(person % 5 != 0)
mean, std = X[train_ids].mean((0, 2), keepdims=True), X[train_ids].std((0, 2), keepdims=True)
X, Y = torch.from_numpy((X - mean) / std), torch.from_numpy(Y)
train_loader = DataLoader(TensorDataset(X[train_ids], Y[train_ids]), batch_size=64, shuffle=True)
print(f"{len(train_ids)} training windows, {len(val_ids)} validation windows")

model = nn.Sequential(nn.Conv1d(3, 32, 7, padding=3), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(32, 64, 5, padding=2), nn.ReLU(),
                      nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(64, 4))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
ce = nn.CrossEntropyLoss()
for epoch in range(1, 11):
    model.train()
    run = 0.0
    for x, y in train_loader:
        loss = ce(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        run += loss.item() / len(train_loader)
    model.eval()
    with torch.no_grad():
        out = model(X[val_ids])
        print(f"epoch {epoch:2d}  train {run:.4f}  val {ce(out, Y[val_ids]).item():.4f}  "
              f"acc {(out.argmax(1) == Y[val_ids]).float().mean().item():.4f}")
