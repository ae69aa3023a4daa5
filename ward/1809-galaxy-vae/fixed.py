"""Convolutional VAE on small synthetic galaxy images."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Galaxies(Dataset):
    def __init__(self, n, seed, size=24):
        g = torch.Generator().manual_seed(seed)
        u = lambda: torch.rand(n, 1, 1, generator=g)
        r = torch.linspace(-1, 1, size)
        yy, xx = torch.meshgrid(r, r, indexing="ij")
        a, axis, width = u() * math.pi, 0.3 + 0.6 * u(), 0.25 + 0.25 * u()
        cx, cy = 0.3 * (u() - 0.5), 0.3 * (u() - 0.5)
        p = (xx - cx) * a.cos() + (yy - cy) * a.sin()
        q = -(xx - cx) * a.sin() + (yy - cy) * a.cos()
        light = torch.exp(-((p / width) ** 2 + (q / (width * axis)) ** 2))
        self.images = (light + 0.03 * torch.randn(n, size, size, generator=g)).clamp(0, 1).unsqueeze(1)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i]


class VAE(nn.Module):
    def __init__(self, latent=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(), nn.Flatten())
        self.mu = nn.Linear(32 * 36, latent)
        self.logvar = nn.Linear(32 * 36, latent)
        self.dec_in = nn.Linear(latent, 32 * 36)
        self.dec = nn.Sequential(nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(16, 8, 4, 2, 1), nn.ReLU(),
                                 nn.Conv2d(8, 1, 3, padding=1))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu) if self.training else mu
        return self.dec(F.relu(self.dec_in(z)).view(-1, 32, 6, 6)), mu, logvar


def elbo(recon, x, mu, logvar, beta=1.0, sigma=0.1):
    rec = F.mse_loss(recon, x, reduction="none").sum((1, 2, 3)) / (2 * sigma ** 2)
    kl = -0.5 * (1 + logvar - mu ** 2 - logvar.exp()).sum(1)
    return (rec + beta * kl).mean(), rec.mean(), kl.mean()


class Fitter:
    def __init__(self, epochs=16):
        torch.manual_seed(60)
        self.epochs = epochs
        self.train = DataLoader(Galaxies(1500, 1), batch_size=50, shuffle=True)
        self.val = DataLoader(Galaxies(400, 2), batch_size=100)
        self.model = VAE()
        self.opt = torch.optim.Adam(self.model.parameters(), lr=3e-3)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, epochs)
        self.history = {"train": [], "val": [], "val_rec": [], "val_kl": []}

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for x in self.train:
            loss, _, _ = elbo(*self._run(x))
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            total += loss.item()
        self.sched.step()
        self.history["train"].append(total / len(self.train))

    def _run(self, x):
        recon, mu, logvar = self.model(x)
        return recon, x, mu, logvar

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        loss = rec = kl = 0
        for x in self.val:
            l, r, k = elbo(*self._run(x))
            loss, rec, kl = loss + l, rec + r, kl + k
        n = len(self.val)
        self.history["val"].append((loss / n).item())
        self.history["val_rec"].append((rec / n).item())
        self.history["val_kl"].append((kl / n).item())

    def fit(self):
        for epoch in range(1, self.epochs + 1):
            self.train_epoch()
            self.validate()
            h = self.history
            print(f"epoch {epoch:2d}  train {h['train'][-1]:.3f}  val {h['val'][-1]:.3f}  (rec {h['val_rec'][-1]:.3f}, kl {h['val_kl'][-1]:.3f})")
        best = min(range(self.epochs), key=lambda e: self.history["val"][e])
        print(f"best epoch {best + 1}")


if __name__ == "__main__":
    Fitter().fit()
