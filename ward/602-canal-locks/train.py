import math

import numpy as np
import torch
from torch import nn, optim

rng = np.random.default_rng(3)
torch.manual_seed(3)


def passages(n):
    """minutes a ship needs through the lock: length, draught, queue, wind, pump state"""
    x = rng.uniform(-1.7, 1.7, (n, 5))
    y = 1.2 * np.sin(1.5 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.6 * np.abs(x[:, 3]) - 0.4 * x[:, 4] + 0.15 * rng.standard_normal(n)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y - 0.5, dtype=torch.float32)


class Pilot:
    def __init__(self, net, epochs):
        self.net, self.epochs = net, epochs
        self.opt = optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
        self.sched = optim.lr_scheduler.CosineAnnealingWarmRestarts(self.opt, T_0=2, T_mult=2, eta_min=1e-4)

    def fit(self, x, y, vx, vy, batch=50):
        n_batches = math.ceil(len(x) / batch)
        for epoch in range(self.epochs):
            self.net.train()
            losses = []
            for i, rows in enumerate(torch.randperm(len(x)).split(batch)):
                loss = nn.functional.mse_loss(self.net(x[rows]).squeeze(-1), y[rows])
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                self.sched.step(epoch + (i + 1) / n_batches)
                losses.append(loss.item())
            self.net.eval()
            with torch.no_grad():
                val = nn.functional.mse_loss(self.net(vx).squeeze(-1), vy).item()
            print(f"epoch {epoch + 1:2d}  lr {self.opt.param_groups[0]['lr']:.4f}  train {np.mean(losses):.4f}  val {val:.4f}")


model = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
Pilot(model, epochs=14).fit(*passages(1500), *passages(500))
