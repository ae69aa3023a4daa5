"""VAE with a learned noise level per channel for absorption spectra."""
import torch
import torch.nn as nn

torch.manual_seed(33)
CHANNELS = 24


def spectra(n):
    grid = torch.linspace(0, 1, CHANNELS)
    c = torch.rand(n, 2, 1)
    h = 0.5 + torch.rand(n, 2, 1)
    clean = (h * torch.exp(-((grid - c) / 0.15) ** 2)).sum(1)
    return clean - 0.5 + (0.03 + 0.12 * grid) * torch.randn(n, CHANNELS)


class VAE(nn.Module):
    def __init__(self, latent=6):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(CHANNELS, 64), nn.SiLU(), nn.Linear(64, 2 * latent))
        self.dec = nn.Sequential(nn.Linear(latent, 64), nn.SiLU(), nn.Linear(64, 2 * CHANNELS))

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar.clamp(-10, 10))
        mean, raw = self.dec(z).chunk(2, dim=1)
        sigma = nn.functional.softplus(raw + 0.5) + 0.02
        kl = 0.5 * (mu ** 2 + logvar.exp() - 1 - logvar).sum(1)
        return mean, sigma, kl


def loss_fn(x, mean, sigma, kl):
    z = (x - mean) / sigma
    nll = 0.5 * z ** 2 + torch.log(sigma)
    return (nll.sum(1) + kl).mean() / CHANNELS


vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=2e-3)
for step in range(451):
    x = spectra(64)
    mean, sigma, kl = vae(x)
    loss = loss_fn(x, mean, sigma, kl)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(vae.parameters(), 5.0)
    opt.step()
    if step % 50 == 0:
        print(f"step {step:3d} loss {loss.item():.4f} kl {kl.mean().item():.3f} smallest sigma {sigma.min().item():.4f}")
