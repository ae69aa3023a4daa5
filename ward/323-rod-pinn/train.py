"""Steady heat in a rod with a heat source, solved by a physics-informed network.
   -u''(x) = q(x) on (0, 1), u(0) = u(1) = 0"""
import math
import torch
import torch.nn as nn

torch.manual_seed(0)


class U(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x):
        return x * (1 - x) * self.f(x)  # boundary values are met by construction


def source(x):
    return math.pi ** 2 * torch.sin(math.pi * x) + 2 * math.pi ** 2 * torch.sin(2 * math.pi * x)


def exact(x):
    return torch.sin(math.pi * x) + 0.5 * torch.sin(2 * math.pi * x)


def residual(model, x):
    x = x.requires_grad_(True)
    u = model(x)
    du = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
    d2u = torch.autograd.grad(du.sum(), x, create_graph=True)[0]
    return d2u + source(x)


model = U()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.996)
grid = torch.linspace(0, 1, 101).unsqueeze(1)

for it in range(601):
    x = torch.rand(64, 1)
    loss = residual(model, x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if it % 50 == 0:
        with torch.no_grad():
            err = (model(grid) - exact(grid)).abs().max().item()
        print(f"it {it:4d}  pde loss {loss.item():.5f}  max error {err:.5f}")
