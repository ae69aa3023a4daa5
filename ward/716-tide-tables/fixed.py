"""Tide heights as a sum of known constituents: amplitudes by gradient descent, no modules."""
import math

import torch

torch.manual_seed(2)
PERIODS = [12.42, 12.0, 12.66, 23.93, 25.82, 11.97]
hours = torch.rand(3000) * 24 * 90
true = torch.randn(2 * len(PERIODS)) * torch.linspace(1.5, 0.3, 2 * len(PERIODS))


def constituents(t):
    angles = [2 * math.pi * t / p for p in PERIODS]
    return torch.stack([f(a) * math.sqrt(2) for a in angles for f in (torch.sin, torch.cos)], 1)


heights = constituents(hours) @ true + 1.8 + 0.1 * torch.randn(len(hours))
amplitudes = torch.zeros(2 * len(PERIODS), requires_grad=True)
level = torch.zeros(1, requires_grad=True)


def predict(t):
    return constituents(t) @ amplitudes + level


fast = torch.optim.SGD([amplitudes], lr=0.42)
slow = torch.optim.SGD([level], lr=0.42, weight_decay=1e-4)

for step in range(300):
    rows = torch.randint(0, 2400, (256,))
    error = predict(hours[rows]) - heights[rows]
    loss = (error**2).mean()
    fast.zero_grad()
    slow.zero_grad()
    loss.backward()
    fast.step()
    slow.step()
    if step % 30 == 29:
        with torch.no_grad():
            test = ((predict(hours[2400:]) - heights[2400:]) ** 2).mean()
        print(f"{step + 1} train {loss.item():.4f} test {test.item():.4f}")
