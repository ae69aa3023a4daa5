"""WGAN-GP on eight Gaussians."""
import math

import torch
from torch import autograd, nn, optim

torch.manual_seed(0)
BATCH, N_CRITIC, LAMBDA, ITERS = 128, 3, 0.5, 1200
centres = torch.tensor([[math.cos(k * math.pi / 4), math.sin(k * math.pi / 4)] for k in range(8)]) * 1.4


def real_batch(n):
    return centres[torch.randint(8, (n,))] + 0.15 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))
D = nn.Sequential(nn.Linear(2, 128), nn.LeakyReLU(0.2), nn.Linear(128, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1))
opt_g = optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.9))
opt_d = optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.9))
lin = lambda it: 1 - 0.95 * it / ITERS
sched_g, sched_d = optim.lr_scheduler.LambdaLR(opt_g, lin), optim.lr_scheduler.LambdaLR(opt_d, lin)


def gradient_penalty(real, fake):
    a = torch.rand(len(real), 1)
    mix = (a * real + (1 - a) * fake).requires_grad_()
    grad = autograd.grad(D(mix).sum(), mix, create_graph=True)[0]
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()


for it in range(1, ITERS + 1):
    for p in D.parameters():
        p.requires_grad_(True)
    for _ in range(N_CRITIC):
        real = real_batch(BATCH)
        with torch.no_grad():
            fake = G(torch.randn(BATCH, 4))
        wasserstein = D(real).mean() - D(fake).mean()
        loss_d = -wasserstein + LAMBDA * gradient_penalty(real, fake)
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()
    for p in D.parameters():
        p.requires_grad_(False)
    loss_g = -D(G(torch.randn(BATCH, 4))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    sched_g.step()
    sched_d.step()
    if it % 100 == 0:
        with torch.no_grad():
            d, mode = torch.cdist(G(torch.randn(4000, 4)), centres).min(1)
        share = torch.bincount(mode[d < 0.45], minlength=8) / 4000
        print(f"iter {it:4d}  W {wasserstein.item():.4f}  near a mode {share.sum():.3f}  rarest mode {share.min():.3f}")
