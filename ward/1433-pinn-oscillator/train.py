"""Physics-informed net for a damped oscillator, u'' + 2*d*u' + w^2*u = 0. Adam first, L-BFGS to finish."""
import math

import torch
import torch.nn as nn

torch.manual_seed(6)
D, W, T_END = 0.4, 4.0, 3.0


def exact(t):
    w = math.sqrt(W ** 2 - D ** 2)
    return torch.exp(-D * t) * (torch.cos(w * t) + D / w * torch.sin(w * t))


class Pinn(nn.Module):
    def __init__(self, h=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, h), nn.Tanh(), nn.Linear(h, h), nn.Tanh(), nn.Linear(h, 1))

    def forward(self, t):
        return self.net(2 * t / T_END - 1)


def grad(y, x):
    return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]


net = Pinn()
t_col = torch.linspace(0, T_END, 120).view(-1, 1).requires_grad_(True)
t0 = torch.zeros(1, 1, requires_grad=True)
t_obs = torch.rand(15, 1) * T_END
u_obs = exact(t_obs) + 0.01 * torch.randn(15, 1)  # a few noisy readings


def parts():
    u = net(t_col)
    du = grad(u, t_col)
    ddu = grad(du, t_col)
    physics = ((ddu + 2 * D * du + W ** 2 * u) / W ** 2).pow(2).mean()
    u0 = net(t0)
    start = (u0 - 1).pow(2).mean() + (grad(u0, t0) / W).pow(2).mean()
    fit = (net(t_obs) - u_obs).pow(2).mean()
    return physics, start, fit


def error():
    t = torch.linspace(0, T_END, 400).view(-1, 1)
    with torch.no_grad():
        return ((net(t) - exact(t)).norm() / exact(t).norm()).item()


adam = torch.optim.Adam(net.parameters(), lr=5e-3)
for it in range(1, 1501):
    for g in adam.param_groups:
        g["lr"] = 5e-3 * 0.5 ** (it // 500)
    physics, start, fit = parts()
    loss = physics + start + fit
    adam.zero_grad()
    loss.backward()
    adam.step()
    if it % 250 == 0:
        print(f"adam {it} physics {physics.item():.2e} start {start.item():.2e} data {fit.item():.2e} rel. error {error():.4f}")

lbfgs = torch.optim.LBFGS(net.parameters(), lr=1.0, max_iter=20, history_size=20, line_search_fn="strong_wolfe")


def closure():
    lbfgs.zero_grad()
    total = sum(parts())
    total.backward()
    return total


for it in range(1, 16):
    total = lbfgs.step(closure)
    if it % 5 == 0:
        print(f"lbfgs {it} loss {total.item():.2e} rel. error {error():.4f}")
