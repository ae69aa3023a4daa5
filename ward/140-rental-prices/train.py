"""Predict the monthly rent of flats from an exported table."""
import csv
import io

import numpy as np
import torch
from torch import nn


def export(n, seed):
    """What the agency's database dumps: area, rooms, floor, year, distance, rent."""
    rng = np.random.default_rng(seed)
    out = io.StringIO()
    w = csv.writer(out)
    w.writerow(["area", "rooms", "floor", "year", "km_centre", "rent"])
    for _ in range(n):
        area, floor, year, km = rng.uniform(20, 140), rng.integers(0, 9), rng.integers(1900, 2022), rng.gamma(2.0, 2.0)
        rooms = max(1, round(area / 28 + rng.normal(0, 0.5)))
        rent = 250 + 9.5 * area + 40 * rooms + 6 * floor + 2.5 * (year - 1960) * (year > 1960) - 45 * km + rng.normal(0, 40)
        w.writerow([f"{area:.1f}", rooms, floor, year if rng.random() > 0.004 else "", f"{km:.2f}", f"{rent:.0f}"])
    return out.getvalue()


def read(text):
    table = np.genfromtxt(io.StringIO(text), delimiter=",", skip_header=1)
    x, y = table[:, :-1], table[:, -1:]
    x = (x - [80, 3, 4, 1960, 4]) / [35, 1.3, 2.6, 35, 2.8]
    return torch.tensor(x, dtype=torch.float32), torch.tensor((y - 1000) / 400, dtype=torch.float32)


torch.manual_seed(4)
x_train, y_train = read(export(2400, seed=1))
x_val, y_val = read(export(400, seed=2))

net = nn.Sequential(nn.Linear(5, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
mse = nn.MSELoss()

for epoch in range(15):
    net.train()
    total = 0.0
    for idx in torch.randperm(len(x_train)).split(64):
        opt.zero_grad()
        loss = mse(net(x_train[idx]), y_train[idx])
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    net.eval()
    with torch.no_grad():
        val = mse(net(x_val), y_val).item()
    print(f"epoch {epoch + 1:2d}  train {total / len(x_train):.4f}  val {val:.4f}")
