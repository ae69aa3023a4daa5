"""A GAN on 2-d pen strokes; the discriminator sees how much the batch varies."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(14)
POINTS = 8


def strokes(n):
    t = torch.linspace(0, 1, POINTS)
    a = torch.rand(n, 1) * 2 * torch.pi
    bend = torch.randn(n, 1) * 0.4
    x = torch.cos(a) * (t - 0.5) - torch.sin(a) * bend * t * (1 - t) * 4
    y = torch.sin(a) * (t - 0.5) + torch.cos(a) * bend * t * (1 - t) * 4
    return torch.stack([x, y], 2) * 2


def lengths(n):
    """how many of the points are drawn before the pen is lifted"""
    k = torch.randint(5, POINTS + 1, (n, 1))
    return (torch.arange(POINTS) < k).float().unsqueeze(2)


class BatchSpread(nn.Module):
    """append the mean standard deviation over the batch as one more feature"""

    def forward(self, h):
        sd = torch.sqrt(h.var(dim=0, unbiased=False) + 1e-8)
        return torch.cat([h, sd.mean().expand(len(h), 1)], 1)


G = nn.Sequential(nn.Linear(6, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 2 * POINTS), nn.Unflatten(1, (POINTS, 2)))
D = nn.Sequential(nn.Flatten(), BatchSpread(), nn.Linear(2 * POINTS + 1, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.99))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.99))

for step in range(1, 301):
    real = strokes(16) * lengths(16)
    fake = G(torch.randn(16, 6)) * lengths(16)
    d_loss = F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean()
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()

    g_loss = F.softplus(-D(fake)).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    if step % 30 == 0 or step == 1:
        with torch.no_grad():
            sample, ref = G(torch.randn(500, 6)), strokes(500)
            gap = (sample.std(0) - ref.std(0)).abs().mean().item()
        print(f"step {step:3d} d {d_loss.item():.4f} g {g_loss.item():.4f} spread gap {gap:.4f}")
