"""Yield of greenhouse beds from min-max scaled readings. Plain tensors, no modules."""
import math

import torch

LIMITS = {"temp": (5.0, 40.0), "light": (0.0, 900.0), "water": (0.0, 12.0), "co2": (300.0, 1500.0), "ph": (4.0, 9.0), "age": (0.0, 120.0)}


def readings(n, g):
    r = lambda: torch.rand(n, generator=g)
    z = lambda: torch.randn(n, generator=g)
    t = {
        "temp": (24 + 4 * z()).clamp(5, 40),
        "light": 900 * r() ** 3,
        "water": 12 * r() ** 0.4,
        "co2": (500 + 120 * z()).clamp(300, 1500),
        "ph": (7.3 + 0.5 * z()).clamp(4, 9),
        "age": 120 * r(),
    }
    s = {k: (v - LIMITS[k][0]) / (LIMITS[k][1] - LIMITS[k][0]) for k, v in t.items()}
    crop = 3 * s["light"] + 2 * torch.sin(3 * s["temp"]) - 2.5 * (s["water"] - 0.7) ** 2 * 4 + 1.5 * s["age"] * s["light"] + 2 * s["co2"]
    return t, crop + 0.15 * torch.randn(n, generator=g)


def table(t, columns):
    cols = []
    for name in columns:
        low, high = LIMITS[name]
        cols.append((t[name] - low) / (high - low) * 2 - 1)
    return torch.stack(cols, 1)


g = torch.Generator().manual_seed(17)
train_t, train_y = readings(2000, g)
val_t, val_y = readings(400, g)
mean, std = train_y.mean(), train_y.std()
train_y, val_y = (train_y - mean) / std, (val_y - mean) / std
train_x = table(train_t, train_t.keys())
val_x = table(val_t, train_t.keys())

sizes = [6, 32, 32, 1]
weights = [(torch.randn(a, b, generator=g) / math.sqrt(a)).requires_grad_() for a, b in zip(sizes, sizes[1:])]
biases = [torch.zeros(b, requires_grad=True) for b in sizes[1:]]
optimizer = torch.optim.Adam(weights + biases, lr=4e-3)


def predict(x):
    for w, b in zip(weights[:-1], biases[:-1]):
        x = torch.tanh(x @ w + b)
    return (x @ weights[-1] + biases[-1]).squeeze(1)


for epoch in range(9):
    total = 0.0
    for idx in torch.randperm(2000, generator=g).split(50):
        loss = (predict(train_x[idx]) - train_y[idx]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / 40
    with torch.no_grad():
        val = (predict(val_x) - val_y).pow(2).mean().item()
    print(f"epoch {epoch}: mse {total:.4f} | val mse {val:.4f}")
