import numpy as np
import torch
from torch import nn


class Sales:
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        area = rng.gamma(6, 14, n)
        floor = rng.integers(0, 9, n)
        age = rng.uniform(0, 90, n)
        centre = rng.exponential(4, n)
        price = 2800 * area * np.exp(-0.06 * centre) - 900 * age + 4000 * floor + rng.normal(0, 45000, n)
        self.columns = {
            "area": area,
            "floor": floor,
            "age": age,
            "centre": centre,
            "month": rng.integers(1, 13, n),
        }
        self.price = price

    def table(self):
        values = np.column_stack([*self.columns.values(), self.price])
        return (values - values.mean(0)) / values.std(0)


class Valuer:
    def __init__(self, inputs):
        self.net = nn.Sequential(nn.Linear(inputs, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=2e-3)

    def train(self, rows, held_out, epochs=15):
        for epoch in range(epochs):
            self.net.train()
            for batch in rows[torch.randperm(len(rows))].split(50):
                loss = nn.functional.mse_loss(self.net(batch[:, :-1]), batch[:, -1:])
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            self.net.eval()
            with torch.no_grad():
                val = nn.functional.mse_loss(self.net(held_out[:, :-1]), held_out[:, -1:]).item()
            print(f"{epoch + 1:2d} train {loss.item():.4f} val {val:.4f}")


torch.manual_seed(9)
table = torch.tensor(Sales(2200, 1).table(), dtype=torch.float32)
Valuer(table.shape[1] - 1).train(table[:1800], table[1800:])
