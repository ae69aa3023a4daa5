"""Pump condition from a table of sensor readings (4 conditions)."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
rng = np.random.default_rng(31)
SENSORS = ["bar_in", "bar_out", "rpm", "temp", "vib_x", "vib_y", "vib_z", "flow", "volt", "amp"]
OFFSET = np.array([2.1, 9.5, 2900, 61, 0.8, 0.7, 1.1, 340, 228, 14.0])
SPREAD = np.array([0.2, 0.8, 55, 6.0, 0.2, 0.2, 0.3, 25, 3.0, 1.6])
SHIFT = rng.normal(size=(4, 10)) * 0.9
BEND = rng.normal(size=(4, 10, 10)) * 0.12


def measure(n):
    state = rng.integers(0, 4, n)
    z = rng.normal(size=(n, 10))
    z = z + SHIFT[state] + np.einsum("ni,nij->nj", z, BEND[state])
    return (OFFSET + SPREAD * z).astype("float32"), state


class Scaler:
    def fit(self, x):
        self.mean, self.std = x.mean(0), x.std(0)
        return self

    def __call__(self, x):
        return (x - self.mean) / self.std


class PumpData(Dataset):
    def __init__(self, readings, state, scaler):
        self.readings, self.state, self.scaler = torch.from_numpy(readings), torch.from_numpy(state), scaler

    def __len__(self):
        return len(self.state)

    def __getitem__(self, i):
        return self.scaler(self.readings[i]), self.state[i]


raw_train, raw_val = measure(4000), measure(1000)
scaler = Scaler().fit(torch.from_numpy(raw_train[0]))
train_dl = DataLoader(PumpData(*raw_train, scaler), batch_size=64, shuffle=True)
val_dl = DataLoader(PumpData(*raw_val, scaler), batch_size=500)
net = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 4))
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.85)


def predict(x):
    net.eval()
    with torch.no_grad():
        return net(scaler(x))


for epoch in range(20):
    net.train()
    train_loss = 0.0
    for x, y in train_dl:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        train_loss += loss.item() / len(train_dl)
    scheduler.step()
    val_loss, hits = 0.0, 0
    for x, y in val_dl:
        out = predict(x)
        val_loss += nn.functional.cross_entropy(out, y).item() / len(val_dl)
        hits += (out.argmax(1) == y).sum().item()
    print(f"epoch {epoch + 1:2d}  train {train_loss:.3f}  val {val_loss:.3f}  val acc {hits / len(val_dl.dataset):.3f}")
