import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)
MODES, LATENT, BATCH, STEPS = 8, 8, 128, 2500


def real_batch(n):
    k = torch.randint(0, MODES, (n,)).float() * 2 * math.pi / MODES
    return torch.stack([k.cos(), k.sin()], 1) + 0.05 * torch.randn(n, 2)


def mlp(n_in, n_out, width=64):
    return nn.Sequential(nn.Linear(n_in, width), nn.LeakyReLU(0.2), nn.Linear(width, width), nn.LeakyReLU(0.2), nn.Linear(width, n_out))


generator, critic = mlp(LATENT, 2), mlp(2, 1)
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
opt_d = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))


def penalty(x):
    """R1: squared gradient of the critic on real points."""
    x = x.requires_grad_(True)
    grad, = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return grad.pow(2).sum(1).mean()


@torch.no_grad()
def coverage(n=2000):
    generator.eval()
    fake = generator(torch.randn(n, LATENT))
    generator.train()
    angle = torch.arange(MODES) * 2 * math.pi / MODES
    centres = torch.stack([angle.cos(), angle.sin()], 1)
    dist, mode = torch.cdist(fake, centres).min(1)
    close = dist < 0.2
    return (torch.bincount(mode[close], minlength=MODES) > n // 40).sum().item(), close.float().mean().item()


for step in range(1, STEPS + 1):
    real = real_batch(BATCH)
    fake = generator(torch.randn(BATCH, LATENT))
    loss_d = F.softplus(-critic(real)).mean() + F.softplus(critic(fake.detach())).mean() + 0.05 * penalty(real)
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    loss_g = F.softplus(-critic(generator(torch.randn(BATCH, LATENT)))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if step % 250 == 0:
        modes, share = coverage()
        print(f"step {step:4d} loss_d {loss_d.item():.3f} loss_g {loss_g.item():.3f} modes {modes}/{MODES} on target {share:.2f}")
