"""Forecasts the next hour of a heat meter; weights, readings and targets are bfloat16, master weights are kept in single precision."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(5)
rng = np.random.default_rng(5)
hours = np.arange(24 * 150)
load = 0.9 * np.sin(2 * np.pi * hours / 24) + 0.4 * np.sin(2 * np.pi * hours / 168) + 0.15 * rng.standard_normal(len(hours))
load = torch.tensor((load - load.mean()) / load.std(), dtype=torch.float32)
windows = load.unfold(0, 25, 1)
x, y = windows[:, :24].to(torch.bfloat16), windows[:, 24:].to(torch.bfloat16)
cut = 24 * 120
x_train, y_train, x_val, y_val = x[: cut - 24], y[: cut - 24], x[cut:], y[cut:]

model = nn.Sequential(nn.Linear(24, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 1)).to(torch.bfloat16)
masters = [p.detach().float().clone().requires_grad_() for p in model.parameters()]
optimizer = torch.optim.AdamW(masters, lr=1e-3, weight_decay=1e-3)

for epoch in range(6):
    order = torch.randperm(len(x_train))
    for rows in order.split(64):
        loss = F.mse_loss(model(x_train[rows]), y_train[rows])
        loss.backward()
        with torch.no_grad():
            for master, p in zip(masters, model.parameters()):
                master.grad = p.grad.float()
                p.grad = None
        optimizer.step()
        with torch.no_grad():
            for master, p in zip(masters, model.parameters()):
                p.copy_(master)
    with torch.no_grad():
        val = F.mse_loss(model(x_val).float(), y_val.float())
    print(f"epoch {epoch + 1}: train {loss.item():.4f} val {val.item():.4f}")
