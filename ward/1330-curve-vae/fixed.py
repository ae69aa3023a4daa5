import torch
from torch import nn
import torch.nn.functional as F

EPOCHS = 30
BATCH = 50
LATENT = 6
torch.manual_seed(33)


def curves(n, points=64):
    """Chromatogram-like traces: two or three peaks on a drifting baseline."""
    t = torch.linspace(0, 1, points)
    out = torch.zeros(n, points)
    for centre in (0.25, 0.5, 0.75):
        c = centre + 0.05 * torch.randn(n, 1)
        h = torch.rand(n, 1) * (torch.rand(n, 1) > 0.15)
        out += h * torch.exp(-((t - c) / 0.055) ** 2)
    out += 0.2 * torch.randn(n, 1) * (t - 0.5)
    return (out + 0.03 * torch.randn(n, points)) / 0.3


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, 128), nn.SiLU(), nn.Linear(128, 64), nn.SiLU())
        self.mu, self.logvar = nn.Linear(64, LATENT), nn.Linear(64, LATENT)
        self.dec = nn.Sequential(nn.Linear(LATENT, 64), nn.SiLU(), nn.Linear(64, 128), nn.SiLU(), nn.Linear(128, 64))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp() if self.training else mu
        return self.dec(z), mu, logvar


def elbo(x, recon, mu, logvar, beta=0.5):
    rec = F.mse_loss(recon, x, reduction="none").sum(1).mean()
    kl = -0.5 * (1 + logvar - mu ** 2 - logvar.exp()).sum(1).mean()
    return rec + beta * kl, rec, kl


train_x, val_x = curves(4000), curves(800)
vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=1e-3)
step = 0
for epoch in range(EPOCHS):
    vae.train()
    for b in torch.randperm(len(train_x)).split(BATCH):
        opt.zero_grad()
        loss, rec, kl = elbo(train_x[b], *vae(train_x[b]))
        loss.backward()
        opt.step()
        step += 1
        if step % 40 == 0:
            print(f"step {step:5d}  elbo {loss.item():.3f}  rec {rec.item():.3f}  kl {kl.item():.3f}")
    vae.eval()
    with torch.no_grad():
        vl, vr, vk = elbo(val_x, *vae(val_x))
        explained = 1 - ((vae(val_x)[0] - val_x) ** 2).mean() / val_x.var()
    print(f"== epoch {epoch + 1}: val loss {vl:.3f} rec {vr:.3f} kl {vk:.3f}  variance explained {explained:.3f}")
