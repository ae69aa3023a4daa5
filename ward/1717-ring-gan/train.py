"""GAN on a ring of eight Gaussians (the usual toy for mode collapse)."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)
Z_DIM, HIDDEN, BATCH, STEPS = 8, 96, 192, 2400
ANGLES = torch.arange(8) * (2 * math.pi / 8)
MODES = 2.0 * torch.stack([ANGLES.cos(), ANGLES.sin()], 1)


def real_batch(n):
    return MODES[torch.randint(0, 8, (n,))] + 0.15 * torch.randn(n, 2)


def mlp(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, HIDDEN), nn.LeakyReLU(0.2),
                         nn.Linear(HIDDEN, HIDDEN), nn.LeakyReLU(0.2),
                         nn.Linear(HIDDEN, n_out))


@torch.no_grad()
def coverage(generator, n=2000):
    """How many modes get their share, and how many samples lie close to one."""
    x = generator(torch.randn(n, Z_DIM))
    dist, which = torch.cdist(x, MODES).min(1)
    good = dist < 0.5
    counts = torch.bincount(which[good], minlength=8)
    return int((counts > n / 32).sum()), good.float().mean().item()


G, D = mlp(Z_DIM, 2), mlp(2, 1)
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.99))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.99))
bce = F.binary_cross_entropy_with_logits
ones, zeros = torch.ones(BATCH, 1), torch.zeros(BATCH, 1)

mean_d = mean_g = 0.0
for step in range(1, STEPS + 1):
    # discriminator
    real = real_batch(BATCH)
    fake = G(torch.randn(BATCH, Z_DIM)).detach()
    loss_d = bce(D(real), ones) + bce(D(fake), zeros)
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    # generator
    fake = G(torch.randn(BATCH, Z_DIM))
    loss_g = bce(D(fake), ones)
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()

    mean_d += loss_d.item() / 200
    mean_g += loss_g.item() / 200
    if step % 200 == 0:
        modes, near = coverage(G)
        print(f"step {step:5d}  D {mean_d:.3f}  G {mean_g:.3f}  modes {modes}/8  samples near a mode {near:.2f}")
        mean_d = mean_g = 0.0
