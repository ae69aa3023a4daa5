"""Tide levels as a sum of learned waves over a fixed basis."""
import numpy as np
import torch
import torch.nn as nn


class Tide(nn.Module):
    def __init__(self, hours, waves):
        super().__init__()
        periods = 12.42 / np.arange(1, waves + 1)
        angles = 2 * np.pi * np.arange(hours)[:, None] / periods[None]
        basis = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
        self.register_buffer("basis", torch.tensor(basis))
        self.mix = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 2 * waves))

    def forward(self, moon):
        weights = self.mix(moon)
        return weights @ self.basis.T


torch.manual_seed(94)
moon = torch.rand(800, 3)
model = Tide(24, 4)
hours = torch.arange(24.0)
level = moon[:, :1] * torch.sin(hours / 12.42 * 6.283) + 0.3 * moon[:, 1:2] * torch.cos(hours / 6.21 * 6.283)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(150):
    pick = torch.randint(0, 800, (40,))
    loss = (model(moon[pick]) - level[pick]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(step, round(loss.item(), 4))
