"""Coordinate network: sea-surface temperature from (lon, lat, day), fitted to scattered buoy readings."""
import math

import torch
from torch import nn


def field(p):
    lon, lat, day = p.unbind(-1)
    return (1.2 * torch.cos(1.3 * lat) + 0.7 * torch.sin(2.0 * lon + 1.0 * lat) * torch.cos(math.pi * day)
            + 0.5 * torch.exp(-4 * ((lon - 0.3) ** 2 + (lat + 0.2) ** 2)) - 0.3 * lon * day)


def sample(n, seed):
    g = torch.Generator().manual_seed(seed)
    p = torch.rand(n, 3, generator=g) * 2 - 1
    return p, (field(p) + 0.05 * torch.randn(n, generator=g)).unsqueeze(1)


class CoordLayer(nn.Module):
    def __init__(self, n_in, n_out, omega):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)
        self.omega = omega

    def forward(self, x):
        return torch.tanh(self.omega * self.linear(x))


class CoordNet(nn.Module):
    def __init__(self, hidden=64, depth=6, omega=30.0):
        super().__init__()
        sizes = [3] + [hidden] * depth
        self.body = nn.Sequential(*[CoordLayer(a, b, omega) for a, b in zip(sizes, sizes[1:])])
        self.out = nn.Linear(hidden, 1)

    def forward(self, p):
        return self.out(self.body(p))


def main():
    torch.manual_seed(8)
    p_tr, s_tr = sample(3000, 1)
    p_va, s_va = sample(800, 2)
    mu, sd = s_tr.mean(), s_tr.std()
    s_tr, s_va = (s_tr - mu) / sd, (s_va - mu) / sd

    net = CoordNet()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=40)
    for epoch in range(40):
        net.train()
        total = 0.0
        for idx in torch.randperm(len(p_tr)).split(100):
            opt.zero_grad()
            loss = nn.functional.mse_loss(net(p_tr[idx]), s_tr[idx])
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        sched.step()
        if (epoch + 1) % 4 == 0:
            net.eval()
            with torch.no_grad():
                val = nn.functional.mse_loss(net(p_va), s_va).item()
            print(f"epoch {epoch + 1:3d}  mse {total / len(p_tr):.4f}  val mse {val:.4f}  val R2 {1 - val / s_va.var().item():.3f}")


main()
