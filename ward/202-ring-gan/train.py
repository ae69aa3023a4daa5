import math
import torch
import torch.nn as nn

torch.manual_seed(0)
Z, B, STEPS = 8, 128, 500
angles = torch.arange(8) * (2 * math.pi / 8)
centres = torch.stack([angles.cos(), angles.sin()], 1)


def real_batch(n):
    return centres[torch.randint(0, 8, (n,))] + 0.15 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(Z, 64), nn.BatchNorm1d(64), nn.ReLU(),
                  nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 2))
D = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1.5e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=1.5e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(B, 1), torch.zeros(B, 1)


print(f"real samples: dist {torch.cdist(real_batch(5000), centres).min(1).values.mean().item():.3f}")


@torch.no_grad()
def quality(n=1000):
    G.eval()
    s = G(torch.randn(n, Z))
    G.train()
    d, which = torch.cdist(s, centres).min(1)
    return d.mean().item(), (torch.bincount(which[d < 0.35], minlength=8) > 20).sum().item()


for step in range(1, STEPS + 1):
    # discriminator
    with torch.no_grad():
        fake = G(torch.randn(B, Z))
    loss_d = bce(D(real_batch(B)), ones) + bce(D(fake), zeros)
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()
    # generator
    loss_g = bce(D(G(torch.randn(B, Z))), ones)
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if step % 100 == 0:
        dist, modes = quality()
        print(f"step {step:4d} loss_d {loss_d.item():.3f} loss_g {loss_g.item():.3f} dist {dist:.3f} modes {modes}/8")
