"""Inverse kinematics: several joint angles reach the same point, so fit a mixture of component networks."""
import copy
import math
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Settings:
    components: int = 4
    hidden: int = 24
    lr: float = 4e-3
    batch: int = 128
    steps: int = 300
    seed: int = 6


def component(hidden):
    """x -> (mixing logit, mean, log sigma)"""
    return nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 3))


class Mixture(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.components = nn.ModuleList(component(s.hidden) for _ in range(s.components))

    def nll(self, x, y):
        logits, mu, log_sigma = torch.stack([c(x) for c in self.components], dim=-1).unbind(dim=1)
        log_sigma = log_sigma.clamp(-4, 2)
        z = (y - mu) / log_sigma.exp()
        log_p = -0.5 * z ** 2 - log_sigma - 0.5 * math.log(2 * math.pi)
        return -torch.logsumexp(torch.log_softmax(logits, -1) + log_p, dim=-1).mean()


def sample(n, gen):
    angle = torch.rand(n, 1, generator=gen)
    reach = angle + 0.3 * torch.sin(2 * math.pi * angle) + 0.05 * torch.randn(n, 1, generator=gen)
    return (reach - 0.5) / 0.29, (angle - 0.5) / 0.29


s = Settings()
torch.manual_seed(s.seed)
gen = torch.Generator().manual_seed(s.seed)
x, y = sample(4000, gen)
xv, yv = sample(1000, gen)
model = Mixture(s)
opt = torch.optim.Adam(model.parameters(), lr=s.lr)
for step in range(s.steps + 1):
    i = torch.randint(0, len(x), (s.batch,), generator=gen)
    loss = model.nll(x[i], y[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        with torch.no_grad():
            print(f"step {step:4d}  nll {loss.item():.4f}  val nll {model.nll(xv, yv).item():.4f}")
