import math
import torch
from torch import nn

torch.manual_seed(90)
T = 40
beta = torch.linspace(2e-3, 0.2, T)
abar = torch.cumprod(1 - beta, 0)


def islands(n):
    k = torch.randint(0, 5, (n,))
    a = 2 * math.pi * k / 5
    return torch.stack([torch.cos(a), torch.sin(a)], 1) * 1.4 + 0.12 * torch.randn(n, 2)


class Eps(nn.Module):
    def __init__(self, h=96):
        super().__init__()
        self.register_buffer("freq", torch.exp(torch.linspace(0, 1.5, 8)))
        self.net = nn.Sequential(nn.Linear(2 + 16, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, 2))

    def forward(self, x, t):
        ph = t[:, None] / T * self.freq
        return self.net(torch.cat([x, ph.sin(), ph.cos()], 1))


def noised(x0, t, eps):
    a = abar[t].unsqueeze(1)
    return a.sqrt() * x0 + (1 - a).sqrt() * eps


model = Eps()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 900, eta_min=1e-4)
fixed = (islands(1000), torch.randint(0, T, (1000,)), torch.randn(1000, 2))

for it in range(901):
    x0 = islands(128)
    t = torch.randint(0, T, (128,))
    eps = torch.randn_like(x0)
    loss = (model(noised(x0, t, eps), t) - eps).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if it % 60 == 0:
        with torch.no_grad():
            v = (model(noised(*fixed), fixed[1]) - fixed[2]).pow(2).mean().item()
        print(f"iter {it:4d} loss {loss.item():.4f} eval {v:.4f}")

with torch.no_grad():
    x = torch.randn(500, 2)
    for k in reversed(range(T)):
        e = model(x, torch.full((500,), k))
        x = (x - beta[k] / (1 - abar[k]).sqrt() * e) / (1 - beta[k]).sqrt()
        if k:
            x = x + beta[k].sqrt() * torch.randn_like(x)
    d = torch.cdist(x, islands(2000)).min(1).values
print(f"median distance of samples to the data {d.median():.4f} (of noise {torch.cdist(torch.randn(500, 2), islands(2000)).min(1).values.median():.4f})")
