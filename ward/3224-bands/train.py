"""Quantile bands for a heteroscedastic series (nine quantiles at once)."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.RandomState(8)
torch.manual_seed(8)
TAUS = torch.linspace(0.1, 0.9, 9)


def generate(n):
    hour, temp, holiday = rng.rand(n) * 24, rng.randn(n), rng.rand(n) < 0.2
    base = np.sin(hour / 24 * 2 * np.pi) + 0.5 * np.cos(hour / 12 * 2 * np.pi) + 0.4 * temp ** 2 - 0.5 * holiday
    spread = 0.15 + 0.35 * (np.sin(hour / 24 * 2 * np.pi + 1) > 0) + 0.1 * np.abs(temp)
    load = base + spread * rng.randn(n)
    feats = np.stack([np.sin(hour / 24 * 2 * np.pi), np.cos(hour / 24 * 2 * np.pi), temp, (holiday - 0.2) / 0.4], 1)
    return torch.tensor(feats, dtype=torch.float32), torch.tensor((load - 0.3) / 1.1, dtype=torch.float32)


class QuantileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU())
        self.low = nn.Linear(64, 1)
        self.steps = nn.Linear(64, len(TAUS) - 1)

    def forward(self, x):
        h = self.body(x)
        first = self.low(h)
        return torch.cat([first, first + nn.functional.softplus(self.steps(h) - 2).cumsum(1)], 1)     # (batch, 9)


def pinball(q, y):
    diff = y[:, None] - q                      # (batch, 1) against (batch, 9)
    return torch.maximum(TAUS * diff, (TAUS - 1) * diff).mean()


train, (xv, yv) = TensorDataset(*generate(8000)), generate(2000)
loader = DataLoader(train, batch_size=64, shuffle=True)
net = QuantileNet()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=1e-3)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=3e-3, epochs=24, steps_per_epoch=len(loader))
for epoch in range(24):
    net.train()
    tot = 0.0
    for x, y in loader:
        loss = pinball(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        tot += loss.item()
    net.eval()
    with torch.no_grad():
        q = net(xv)
        cover = ((yv >= q[:, 0]) & (yv <= q[:, -1])).float().mean()
    if epoch % 2 == 1:
        print(f"epoch {epoch + 1:2d}: pinball {tot / len(loader):.4f}  val {pinball(q, yv):.4f}  80% band covers {cover:.3f}")
