"""Toy GAN: eight blobs on a ring. Hinge loss, two D steps per G step, evaluation by energy distance."""
import argparse
import math

import torch
from torch import nn

ap = argparse.ArgumentParser()
ap.add_argument("--iters", type=int, default=1500)
ap.add_argument("--batch", type=int, default=128)
ap.add_argument("--zdim", type=int, default=8)
ap.add_argument("--d-steps", type=int, default=2)
ap.add_argument("--seed", type=int, default=5)
args = ap.parse_args()
torch.manual_seed(args.seed)


def real_points(n):
    k = torch.randint(0, 8, (n,)).float() * (2 * math.pi / 8)
    return torch.stack([k.cos(), k.sin()], 1) * 1.4 + 0.08 * torch.randn(n, 2)


def mlp(i, o, h=64, act=nn.LeakyReLU):
    return nn.Sequential(nn.Linear(i, h), act(0.2), nn.Linear(h, h), act(0.2), nn.Linear(h, o))


G, D = mlp(args.zdim, 2), mlp(2, 1)
opt_g = torch.optim.Adam(G.parameters(), lr=5e-4, betas=(0.5, 0.99))
opt_d = torch.optim.Adam(D.parameters(), lr=5e-4, betas=(0.5, 0.99))


def energy_distance(a, b):
    return (2 * torch.cdist(a, b).mean() - torch.cdist(a, a).mean() - torch.cdist(b, b).mean()).item()


def gradient_penalty(x):
    x = x.detach().requires_grad_(True)
    g, = torch.autograd.grad(D(x).sum(), x, create_graph=True)
    return g.pow(2).sum(1).mean()


holdout = real_points(1000)
for it in range(1, args.iters + 1):
    for _ in range(args.d_steps):
        x = real_points(args.batch)
        fake = G(torch.randn(args.batch, args.zdim)).detach()
        loss_d = torch.relu(1 - D(x)).mean() + torch.relu(1 + D(fake)).mean()
        loss_d = loss_d + 0.1 * gradient_penalty(x)
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()

    fake = G(torch.randn(args.batch, args.zdim))
    loss_g = -D(fake).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()

    if it % 150 == 0:
        with torch.no_grad():
            sample = G(torch.randn(1000, args.zdim))
        print(f"{it:5d}  D {loss_d.item():.3f}  G {loss_g.item():.3f}  energy {energy_distance(sample, holdout):.4f}")
