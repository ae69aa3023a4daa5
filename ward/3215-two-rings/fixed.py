"""Toy DDPM on a 2-D distribution."""
import math

import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(100)
T = 60


def rings(n, gen=None):
    r = torch.where(torch.rand(n, generator=gen) < 0.5, 0.6, 1.6)
    a = torch.rand(n, generator=gen) * 2 * math.pi
    return torch.stack([r * a.cos(), r * a.sin()], 1) + 0.06 * torch.randn(n, 2, generator=gen)


def mlp(sizes, act=nn.SiLU):
    layers = []
    for d_in, d_out in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(d_in, d_out), act()]
    return nn.Sequential(*layers[:-1])


class EpsModel(nn.Module):
    def __init__(self, width=128, t_dim=32):
        super().__init__()
        self.register_buffer("freq", torch.exp(torch.linspace(0, math.log(60.0), t_dim // 2)))
        self.net = mlp([2 + t_dim, width, width, width, 2])

    def forward(self, x, t):
        phase = t[:, None].float() / T * self.freq
        return self.net(torch.cat([x, phase.sin(), phase.cos()], 1))


betas = torch.linspace(1e-3, 0.16, T)
alphas = 1 - betas
abar = torch.cumprod(alphas, 0)


def ddpm_loss(model, x0, t=None, eps=None):
    t = torch.randint(T, (len(x0),)) if t is None else t
    eps = torch.randn_like(x0) if eps is None else eps
    xt = abar[t].sqrt()[:, None] * x0 + (1 - abar[t]).sqrt()[:, None] * eps
    return (model(xt, t) - eps).pow(2).mean()


@torch.no_grad()
def sample(model, n):
    x = torch.randn(n, 2)
    for k in reversed(range(T)):
        t = torch.full((n,), k)
        x = (x - betas[k] / (1 - abar[k]).sqrt() * model(x, t)) / alphas[k].sqrt()
        if k > 0:
            x = x + betas[k].sqrt() * torch.randn_like(x)
    return x


def energy_distance(a, b):
    d = lambda p, q: torch.cdist(p, q).mean().item()
    return 2 * d(a, b) - d(a, a) - d(b, b)


g = torch.Generator().manual_seed(1)
data, held_out = rings(20000, g), rings(8000, g)
held_t, held_eps = torch.randint(T, (8000,), generator=g), torch.randn(8000, 2, generator=g)

model = EpsModel()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-4)
n_iter = 3000
sched = torch.optim.lr_scheduler.OneCycleLR(opt, 2e-3, total_steps=n_iter, pct_start=0.05)
log = []
for it in range(1, n_iter + 1):
    loss = ddpm_loss(model, data[torch.randint(len(data), (256,))])
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    log.append(loss.item())
    if it % 250 == 0:
        with torch.no_grad():
            v = ddpm_loss(model, held_out, held_t, held_eps).item()
        print(f"iter {it:5d}  loss {np.mean(log[-250:]):.4f}  held-out {v:.4f}  energy distance of samples {energy_distance(sample(model, 1000), held_out[:1000]):.4f}")
