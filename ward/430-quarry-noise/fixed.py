import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class VAE(nn.Module):
    def __init__(self, dim=40, latent=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(dim, 64), nn.SiLU())
        self.mu, self.logvar = nn.Linear(64, latent), nn.Linear(64, latent)
        self.dec = nn.Sequential(nn.Linear(latent, 64), nn.SiLU(), nn.Linear(64, dim))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar) if self.training else mu
        return self.dec(z), mu, logvar


def elbo(model, x, beta):
    out, mu, logvar = model(x)
    rec = F.mse_loss(out, x, reduction="none").sum(1).mean()
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    return rec + beta * kl, rec, kl


def spectra(n):
    """sound spectra of three machines at random loudness"""
    f = torch.linspace(0, 1, 40)
    lines = torch.stack([torch.exp(-((f - c) / 0.08) ** 2) for c in (0.2, 0.5, 0.8)])
    return torch.randn(n, 3) @ lines * 1.6 + 0.15 * torch.randn(n, 40)


class History:
    def __init__(self):
        self.rows = []

    def add(self, **values):
        self.rows.append(values)

    def mean(self, key, last):
        rows = self.rows[-last:]
        return sum(r[key] for r in rows) / len(rows)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--beta", type=float, default=0.05)
    ap.add_argument("--epochs", type=int, default=10)
    args = ap.parse_args()
    torch.manual_seed(62)
    train, val = spectra(1200), spectra(300)
    model, history, val_history = VAE(), History(), History()
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    for epoch in range(1, args.epochs + 1):
        model.train()
        for rows in torch.randperm(len(train)).split(50):
            loss, rec, kl = elbo(model, train[rows], args.beta)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            history.add(loss=loss.item(), rec=rec.item(), kl=kl.item())
        model.eval()
        with torch.no_grad():
            val_history.add(loss=elbo(model, val, args.beta)[0].item())
        print(f"epoch {epoch:2d} loss {history.mean('loss', 24):.4f} rec {history.mean('rec', 24):.4f} "
              f"kl {history.mean('kl', 24):.3f} val {val_history.mean('loss', 1):.4f}")


if __name__ == "__main__":
    main()
