# Variational autoencoder for standardised reflectance spectra
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

BANDS = 48


def spectra(n, g):
    wl = torch.linspace(0, 1, BANDS)
    out = torch.zeros(n, BANDS)
    for centre, width in [(0.2, 0.06), (0.45, 0.1), (0.75, 0.08)]:
        depth = torch.rand(n, 1, generator=g)
        shift = 0.03 * torch.randn(n, 1, generator=g)
        out += depth * torch.exp(-((wl - centre - shift) / width) ** 2)
    slope = torch.randn(n, 1, generator=g)
    return out + 0.3 * slope * (wl - 0.5) + 0.02 * torch.randn(n, BANDS, generator=g)


class SpectrumVAE(nn.Module):
    def __init__(self, latent=6, hidden=96):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(BANDS, hidden), nn.ELU(), nn.Linear(hidden, hidden), nn.ELU())
        self.mu, self.logvar = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.dec = nn.Sequential(nn.Linear(latent, hidden), nn.ELU(), nn.Linear(hidden, BANDS))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar) if self.training else mu
        return self.dec(z), mu, logvar


def elbo_terms(recon, x, mu, logvar):
    fit = F.mse_loss(recon, x, reduction="none").sum(1).mean()
    kl = -0.5 * (1 + logvar - mu ** 2 - logvar.exp()).sum(1).mean()
    return fit, kl


def main(epochs=12, batch=64, beta=0.2):
    torch.manual_seed(9)
    g = torch.Generator().manual_seed(9)
    raw, raw_test = spectra(2000, g), spectra(400, g)
    mean, std = raw.mean(0), raw.std(0)
    x, x_test = (raw - mean) / std, (raw_test - mean) / std
    vae = SpectrumVAE()
    opt = torch.optim.Adam(vae.parameters(), lr=2e-3)
    for epoch in range(epochs):
        vae.train()
        sums = [0.0, 0.0]
        for b in torch.randperm(len(x)).split(batch):
            recon, mu, logvar = vae(x[b])
            fit, kl = elbo_terms(recon, x[b], mu, logvar)
            opt.zero_grad()
            (fit + beta * kl).backward()
            opt.step()
            sums[0] += fit.item() * len(b) / len(x)
            sums[1] += kl.item() * len(b) / len(x)
        vae.eval()
        with torch.no_grad():
            rms = math.sqrt(F.mse_loss(vae(x_test)[0], x_test).item())
        print(f"epoch {epoch:2d}: fit {sums[0]:9.3f}  kl {sums[1]:7.3f}  test rms {rms:.3f}")


main()
