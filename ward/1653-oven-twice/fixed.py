"""Checks that two trainings with one seed give the same model before a longer sweep is started."""
import random

import torch
from torch import nn


def ovens(n=480, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(n, 5, generator=generator) * 2 - 1
    y = torch.sin(3 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.1 * torch.randn(n, generator=generator)
    return x, y.unsqueeze(1)


class BakeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(5, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))

    def forward(self, x):
        return self.layers(x)


def batches(count, size):
    order = list(range(count))
    random.shuffle(order)
    for start in range(0, count, size):
        yield order[start : start + size]


def train(seed, epochs=14):
    torch.manual_seed(seed)
    random.seed(seed)
    x, y = ovens()
    model = BakeNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    loss_fn = nn.MSELoss()
    curve = []
    for epoch in range(epochs):
        total = 0.0
        for rows in batches(400, 40):
            optimizer.zero_grad()
            loss = loss_fn(model(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
            total += loss.item() / 10
        with torch.no_grad():
            held_out = loss_fn(model(x[400:]), y[400:]).item()
        curve.append((total, held_out))
    return model, curve


first, first_curve = train(3)
second, second_curve = train(3)
for epoch, ((a, va), (b, vb)) in enumerate(zip(first_curve, second_curve)):
    print(f"epoch {epoch:2d}  train {a:.5f} / {b:.5f}   val {va:.5f} / {vb:.5f}")
gap = max((p - q).abs().max().item() for p, q in zip(first.parameters(), second.parameters()))
print(f"largest difference between the two models: {gap:.2e}")
