"""GAN that learns eight blobs on a ring."""
import math

import torch
import torch.nn as nn

torch.manual_seed(123)


def real_batch(n):
    k = torch.randint(0, 8, (n,)) * (2 * math.pi / 8)
    centre = torch.stack([k.cos(), k.sin()], 1) * 2
    return centre + 0.15 * torch.randn(n, 2)


class Generator(nn.Module):
    def __init__(self, z=8, width=64):
        super().__init__()
        self.z = z
        self.net = nn.Sequential(nn.Linear(z, width), nn.LeakyReLU(0.2), nn.Linear(width, width), nn.LeakyReLU(0.2), nn.Linear(width, 2))

    def forward(self, n):
        return self.net(torch.randn(n, self.z))


class Discriminator(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, width), nn.LeakyReLU(0.2), nn.Linear(width, width), nn.LeakyReLU(0.2), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


def coverage(points):
    """Share of points near a blob, and how many of the eight blobs have some."""
    k = torch.arange(8) * (2 * math.pi / 8)
    dist, which = torch.cdist(points, torch.stack([k.cos(), k.sin()], 1) * 2).min(1)
    near = dist < 0.6
    return near.float().mean().item(), len(which[near].unique())


G, D = Generator(), Discriminator()
opt_g = torch.optim.Adam(G.parameters(), lr=5e-4, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(128), torch.zeros(128)

for step in range(1, 1501):
    # discriminator
    fake = G(128).detach()
    loss_d = bce(D(real_batch(128)), ones * 0.9) + bce(D(fake), zeros)
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    # generator
    loss_g = bce(D(G(128)), ones)
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()

    if step % 150 == 0:
        with torch.no_grad():
            share, modes = coverage(G(2000))
        print(f"[{step:4d}] D {loss_d.item():.3f} G {loss_g.item():.3f} near {share:.2f} modes {modes}/8")
