"""Physics-informed net for u'' + 2 d u' + w^2 u = 0, u(0)=1, u'(0)=0: Adam first, then L-BFGS."""
import math

import torch
import torch.nn as nn

torch.manual_seed(0)
DAMP, OMEGA, T_END = 0.4, 4.0, 3.0


def exact(t):
    w = math.sqrt(OMEGA ** 2 - DAMP ** 2)
    return torch.exp(-DAMP * t) * (torch.cos(w * t) + DAMP / w * torch.sin(w * t))


class Solution(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, t):
        return self.net(2 * t / T_END - 1)


def derivative(u, t):
    return torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]


def loss_terms(model, t):
    t = t.clone().requires_grad_(True)
    u = model(t)
    du = derivative(u, t)
    ode = derivative(du, t) + 2 * DAMP * du + OMEGA ** 2 * u
    t0 = torch.zeros(1, 1, requires_grad=True)
    u0 = model(t0)
    start = (u0 - 1).pow(2).mean() + (derivative(u0, t0) / OMEGA).pow(2).mean()
    return (ode / OMEGA ** 2).pow(2).mean(), start


def rms_error(model):
    t = torch.linspace(0, T_END, 200).unsqueeze(1)
    with torch.no_grad():
        return (model(t) - exact(t)).pow(2).mean().sqrt().item()


model = Solution()
points = torch.linspace(0, T_END, 80).unsqueeze(1)
adam = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(1, 1501):
    ode, start = loss_terms(model, points)
    loss = ode + 2 * start
    adam.zero_grad()
    loss.backward()
    adam.step()
    if step % 250 == 0:
        print(f"adam {step:4d} loss {loss.item():.2e} ode {ode.item():.2e} start {start.item():.2e} rms error {rms_error(model):.4f}")

lbfgs = torch.optim.LBFGS(model.parameters(), max_iter=20, history_size=20, line_search_fn="strong_wolfe")


def closure():
    lbfgs.zero_grad()
    ode, start = loss_terms(model, points)
    loss = ode + 2 * start
    loss.backward()
    return loss


for rnd in range(1, 21):
    loss = lbfgs.step(closure)
    if rnd % 4 == 0:
        print(f"lbfgs {rnd:2d} loss {loss.item():.2e} rms error {rms_error(model):.5f}")
