"""A small GAN on eight blobs arranged in a ring."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
MODES, Z, BATCH, STEPS = 8, 8, 128, 3000
CENTRES = torch.stack([torch.tensor([math.cos(2 * math.pi * k / MODES), math.sin(2 * math.pi * k / MODES)])
                       for k in range(MODES)])


def real_batch(n):
    return CENTRES[torch.randint(MODES, (n,))] + 0.08 * torch.randn(n, 2)


def net(inputs, outputs, width=64):
    return nn.Sequential(nn.Linear(inputs, width), nn.LeakyReLU(0.2),
                         nn.Linear(width, width), nn.LeakyReLU(0.2),
                         nn.Linear(width, outputs))


generator, critic = net(Z, 2), net(2, 1)
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
opt_d = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))
decay = lambda s: 1.0 - max(0, s - STEPS // 2) / (STEPS // 2) * 0.9
schedulers = [torch.optim.lr_scheduler.LambdaLR(o, decay) for o in (opt_g, opt_d)]


@torch.no_grad()
def quality(n=4000):
    """Share of samples near a centre, and modes that get at least a third of their due."""
    generator.eval()
    distance, nearest = torch.cdist(generator(torch.randn(n, Z)), CENTRES).min(1)
    good = distance < 0.3
    counts = torch.bincount(nearest[good], minlength=MODES)
    generator.train()
    return good.float().mean().item(), int((counts > n / MODES / 3).sum())


sum_d = sum_g = 0.0
for step in range(1, STEPS + 1):
    # critic
    real = real_batch(BATCH).requires_grad_(True)
    fake = generator(torch.randn(BATCH, Z)).detach()
    on_real, on_fake = critic(real), critic(fake)
    slope, = torch.autograd.grad(on_real.sum(), real, create_graph=True)
    loss_d = F.softplus(-on_real).mean() + F.softplus(on_fake).mean() + 0.01 * (slope ** 2).sum(1).mean()
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    # generator
    loss_g = F.softplus(-critic(generator(torch.randn(BATCH, Z)))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    for s in schedulers:
        s.step()

    sum_d, sum_g = sum_d + loss_d.item(), sum_g + loss_g.item()
    if step % 300 == 0:
        good, modes = quality()
        print(f"step {step:4d}  D {sum_d / 300:.3f}  G {sum_g / 300:.3f}  on ring {good:.3f}  modes {modes}/{MODES}")
        sum_d = sum_g = 0.0
