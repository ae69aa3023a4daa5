"""Period and damping of a pendulum from its sampled swing."""
import argparse
import math

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--decay", type=float, default=0.95)
parser.add_argument("--epochs", type=int, default=8)
args = parser.parse_args()


def swings(n, g):
    t = torch.linspace(0, 3, 24)
    omega = 2 + 3 * torch.rand(n, 1, generator=g)
    damp = 0.8 * torch.rand(n, 1, generator=g)
    x = torch.exp(-damp * t) * torch.cos(omega * t) + 0.05 * torch.randn(n, 24, generator=g)
    target = torch.cat([(omega - 3.5) / math.sqrt(0.75), (damp - 0.4) / math.sqrt(0.64 / 12)], 1)
    return x * 1.6, target


class Model:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(24, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=args.lr, weight_decay=args.decay)

    def fit_batch(self, x, y):
        self.net.train()
        self.opt.zero_grad()
        loss = nn.functional.mse_loss(self.net(x), y)
        loss.backward()
        self.opt.step()
        return loss.item()

    @torch.no_grad()
    def error(self, x, y):
        self.net.eval()
        return nn.functional.mse_loss(self.net(x), y).item()


torch.manual_seed(6)
g = torch.Generator().manual_seed(6)
x, y = swings(2000, g)
xv, yv = swings(400, g)
model = Model()
for epoch in range(args.epochs):
    losses = [model.fit_batch(x[i], y[i]) for i in torch.randperm(2000).split(50)]
    print(f"epoch {epoch} mse {sum(losses) / len(losses):.4f} val mse {model.error(xv, yv):.4f}")
