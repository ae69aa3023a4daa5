"""Mixture of small experts for demand of a bike station: each regime of the day has its own law."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import IterableDataset, DataLoader


def draw(n, rng):
    hour = rng.uniform(0, 24, n)
    temp = rng.normal(0, 1, n)
    wind = rng.normal(0, 1, n)
    rain = (rng.random(n) < 0.25).astype(float)
    work = (rng.random(n) < 5 / 7).astype(float)
    night, rush = hour < 6, work * ((np.abs(hour - 8) < 1.5) | (np.abs(hour - 17.5) < 1.5)) > 0
    y = np.where(night, 0.1 * temp - 1.2,
                 np.where(rush, 1.5 - 0.2 * rain - 0.2 * wind + 0.1 * temp,
                          np.where(work > 0, -0.2 + 0.3 * temp - 0.5 * rain, 0.4 + 1.0 * temp - 1.2 * rain - 0.4 * wind)))
    y = y + 0.15 * rng.normal(size=n)
    ang = 2 * np.pi * hour / 24
    x = np.stack([np.sin(ang), np.cos(ang), np.sin(2 * ang), np.cos(2 * ang), temp, wind, rain * 2 - 0.5, work * 2 - 1.4], 1)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)


class Stream(IterableDataset):
    def __init__(self, batches, size, seed):
        self.batches, self.size = batches, size
        self.rng = np.random.default_rng(seed)

    def __iter__(self):
        for _ in range(self.batches):
            yield draw(self.size, self.rng)


class MoE(nn.Module):
    def __init__(self, d=8, n_experts=6, hidden=32):
        super().__init__()
        self.router = nn.Sequential(nn.Linear(d, hidden), nn.ReLU(), nn.Linear(hidden, n_experts))
        self.experts = nn.ModuleList([nn.Linear(d, 1) for _ in range(n_experts)])

    def forward(self, x):
        scores = self.router(x)
        gate = F.softmax(scores, dim=-1)
        outs = torch.cat([e(x) for e in self.experts], dim=-1)
        return (gate * outs).sum(-1), gate


torch.manual_seed(14)
loader = DataLoader(Stream(200, 128, seed=5), batch_size=None)
x_val, y_val = draw(2000, np.random.default_rng(77))
model = MoE()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(10):
    model.train()
    seen = []
    for x, y in loader:
        pred, _ = model(x)
        loss = F.mse_loss(pred, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        seen.append(loss.item())
    model.eval()
    with torch.no_grad():
        pred, gate = model(x_val)
        mae, mse = (pred - y_val).abs().mean(), F.mse_loss(pred, y_val)
    share = " ".join(f"{s:.2f}" for s in gate.mean(0).tolist())
    print(f"epoch {epoch + 1:2d} train {np.mean(seen):.4f} val mse {mse:.4f} mae {mae:.4f} | expert share {share}")
