"""Wind power: seven quantiles at once, plus a critic-free smoothness penalty on the inputs (double backward)."""
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Args:
    epochs: int = 24
    batch: int = 64
    max_lr: float = 6e-3
    penalty: float = 0.02
    seed: int = 44


LEVELS = torch.tensor([0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95])


def turbine(n, g):
    wind = 3 + 9 * torch.rand(n, generator=g)
    gust = torch.rand(n, generator=g)
    temp = torch.randn(n, generator=g)
    site = torch.randint(0, 3, (n,), generator=g)
    curve = torch.sigmoid((wind - 7.5 - 0.6 * (site == 1) + 0.5 * (site == 2)) * 0.9)
    noise = torch.randn(n, generator=g) * (0.03 + 0.1 * gust * curve * (1.3 - curve))
    x = torch.cat([torch.stack([(wind - 7.5) / 2.6, (gust - 0.5) / 0.29, temp], 1), nn.functional.one_hot(site, 3).float()], 1)
    return x, (curve * (1 - 0.03 * temp) + noise) * 2


class QuantileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU())
        self.first = nn.Linear(48, 1)
        self.gaps = nn.Linear(48, len(LEVELS) - 1)

    def forward(self, x):
        h = self.trunk(x)
        return torch.cat([self.first(h), self.first(h) + nn.functional.softplus(self.gaps(h) - 2).cumsum(1)], 1)


def pinball(q, y):
    miss = y.unsqueeze(1) - q                 # (batch, 1) - (batch, levels)
    return torch.maximum(LEVELS * miss, (LEVELS - 1) * miss).mean()


def cover(q, y):
    return ((y > q[:, 1]) & (y < q[:, 5])).float().mean().item()


a = Args()
torch.manual_seed(a.seed)
g = torch.Generator().manual_seed(a.seed)
x, y = turbine(4000, g)
vx, vy = turbine(1500, g)
net = QuantileNet()
opt = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=1e-4)
per_epoch = -(-len(x) // a.batch)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, a.max_lr, epochs=a.epochs, steps_per_epoch=per_epoch)

for epoch in range(a.epochs):
    order = torch.randperm(len(x))
    total = 0.0
    for k in range(per_epoch):
        idx = order[k * a.batch:(k + 1) * a.batch]
        xb = x[idx].clone().requires_grad_(True)
        q = net(xb)
        fit = pinball(q, y[idx])
        fit.backward(retain_graph=True)
        slope, = torch.autograd.grad(q[:, 3].sum(), xb, create_graph=True)
        (a.penalty * (slope[:, 2] ** 2).mean()).backward()
        opt.step()
        sched.step()
        opt.zero_grad()
        total += fit.item()
    if epoch % 3 == 2:
        with torch.no_grad():
            q = net(vx)
        print(f"epoch {epoch + 1:2d}: pinball {total / per_epoch:.4f}, new data {pinball(q, vy).item():.4f}, "
              f"inside the 10-90 band {cover(q, vy):.3f} (0.8 wanted), lr {sched.get_last_lr()[0]:.1e}")
