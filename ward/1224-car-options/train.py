"""Resale class (low / middle / high) of cars from their option sheet, all categorical, one-hot over the maker's full catalogue."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

CATALOGUE = {            # all codes that exist; some are no longer built, one is standard in every car
    "body": ["hatch", "estate", "saloon", "coupe", "van", "landaulet"],
    "engine": ["1.0", "1.4", "2.0", "2.0d", "ev", "hybrid", "wankel"],
    "paint": [f"P{i:02d}" for i in range(24)],
    "trim": ["base", "comfort", "sport", "lux"],
    "wheels": [f"{s}in" for s in range(14, 22)],
    "belt": ["three-point"],
    "radio": ["none", "fm", "dab", "nav", "cassette"],
    "roof": ["steel", "glass", "fold"],
}
DISCONTINUED = {"landaulet", "wankel", "cassette", "14in", "15in", "P22", "P23"}
FIELDS = list(CATALOGUE)
COLUMNS = {(f, v): i for i, (f, v) in enumerate((f, v) for f in FIELDS for v in CATALOGUE[f])}


def build_car(rng):
    return {f: rng.choice([v for v in CATALOGUE[f] if v not in DISCONTINUED]) for f in FIELDS}


def encode(cars):
    x = np.zeros((len(cars), len(COLUMNS)), dtype=np.float32)
    for i, car in enumerate(cars):
        for f, v in car.items():
            x[i, COLUMNS[f, str(v)]] = 1.0
    return torch.from_numpy(x)


def fleet(n, worth, rng):
    cars = [build_car(rng) for _ in range(n)]
    value = np.array([sum(worth[COLUMNS[f, str(v)]] for f, v in car.items()) for car in cars])
    value += np.array([1.2 * (car["engine"] == "ev") * (car["roof"] == "glass") for car in cars]) + rng.normal(0, 0.35, n)
    return encode(cars), value


rng = np.random.default_rng(71)
torch.manual_seed(71)
worth = rng.normal(0, 0.8, len(COLUMNS))
x, value = fleet(3000, worth, rng)
y = torch.from_numpy(np.digitize(value, np.quantile(value[:2400], [1 / 3, 2 / 3])))
print(f"{x.shape[1]} columns, {(x.sum(0) == 0).sum().item()} of them always 0, share of ones {x.mean().item():.3f}")

train = DataLoader(TensorDataset(x[:2400], y[:2400]), batch_size=48, shuffle=True)
x_val, y_val = x[2400:], y[2400:]
net = nn.Sequential(nn.Linear(x.shape[1], 24), nn.ReLU(), nn.Linear(24, 3))
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
for epoch in range(1, 8):
    net.train()
    losses = []
    for xb, yb in train:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(xb), yb)
        loss.backward()
        opt.step()
        losses.append(loss.item())
    net.eval()
    with torch.no_grad():
        out = net(x_val)
    print(f"epoch {epoch}  train {np.mean(losses):.4f}  val {nn.functional.cross_entropy(out, y_val).item():.4f}  "
          f"acc {(out.argmax(1) == y_val).float().mean().item():.3f}")
