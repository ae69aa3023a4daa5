"""Predicts the noise of a fan; a quick experiment."""
import random

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)

speeds = np.random.uniform(0.2, 1.0, size=1200)
angles = np.random.uniform(-1, 1, size=1200)
blades = np.array([random.choice([3, 5, 7]) for _ in range(1200)])
noise = 3 * speeds**2 + 0.4 * np.abs(angles) * speeds + 0.05 * blades + 0.05 * np.random.normal(size=1200)
x = torch.tensor(np.column_stack([speeds, angles, (blades - 5) / 2]), dtype=torch.float32)
y = torch.tensor(noise, dtype=torch.float32).unsqueeze(1)


class Fan(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two, self.out = nn.Linear(3, 32), nn.Linear(32, 32), nn.Linear(32, 1)

    def forward(self, x):
        return self.out(torch.relu(self.two(torch.relu(self.one(x)))))


model = Fan()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
loss_fn = nn.MSELoss()
rows = list(range(1000))
for epoch in range(10):
    random.shuffle(rows)
    total = 0.0
    for start in range(0, 1000, 50):
        batch = rows[start : start + 50]
        jitter = 0.01 * torch.from_numpy(np.random.normal(size=(50, 3))).float()
        loss = loss_fn(model(x[batch] + jitter), y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / 20
    with torch.no_grad():
        val = loss_fn(model(x[1000:]), y[1000:]).item()
    print(f"epoch {epoch + 1} train {total:.4f} val {val:.4f}")
