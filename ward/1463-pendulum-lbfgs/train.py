"""Fits the angle of a damped pendulum from noisy readings, in double precision, with L-BFGS on all of them at once."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(3)
torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(3)
time = np.sort(rng.uniform(0, 6, 160))
angle = np.exp(-0.35 * time) * np.cos(3.1 * time) + 0.02 * rng.standard_normal(160)
t = torch.from_numpy(time / 3 - 1)[:, None]
y = torch.from_numpy(angle)[:, None]
held = torch.arange(160) % 5 == 0
t_train, y_train, t_val, y_val = t[~held], y[~held], t[held], y[held]

model = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
loss_fn = nn.MSELoss()
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.8, line_search_fn="strong_wolfe")


def closure():
    optimizer.zero_grad()
    loss = loss_fn(model(t_train), y_train)
    loss.backward()
    return loss


for step in range(14):
    before = optimizer.step(closure)
    with torch.no_grad():
        val = loss_fn(model(t_val), y_val)
    print(f"step {step}: train {before.item():.6f} val {val.item():.6f}")
