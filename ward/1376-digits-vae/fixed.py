"""VAE on the 8x8 digits; keeps the curves for a plot at the end."""
import torch
from torch import nn
from torch.nn import functional as F
from sklearn.datasets import load_digits


class VAE(nn.Module):
    def __init__(self, latent=6, width=320):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.mu, self.logvar = nn.Linear(width, latent), nn.Linear(width, latent)
        self.dec = nn.Sequential(nn.Linear(latent, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 64))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


class Curves:
    def __init__(self):
        self.rec, self.kl = [], []

    def add(self, rec, kl):
        self.rec.append(rec.item())
        self.kl.append(kl.item())

    def last(self, n):
        return sum(self.rec[-n:]) / n, sum(self.kl[-n:]) / n


def terms(model, x):
    out, mu, logvar = model(x)
    rec = F.binary_cross_entropy_with_logits(out, x, reduction="none").sum(1).mean()
    kl = (-0.5 * (1 + logvar - mu ** 2 - logvar.exp())).sum(1).mean()
    return rec, kl


torch.manual_seed(16)
X = torch.tensor(load_digits().data, dtype=torch.float32) / 16
X = X[torch.randperm(len(X))]
train, held = X[:1440], X[1440:]
model = VAE()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
curves = Curves()
step = 0
for epoch in range(1, 61):
    running = 0.0
    for xb in train[torch.randperm(len(train))].split(144):
        rec, kl = terms(model, xb)
        loss = rec + kl
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.item() / 10
        step += 1
        if step % 5 == 0:
            curves.add(*terms(model, held))
    if epoch % 6 == 0:
        r, k = curves.last(4)
        print(f"epoch {epoch:3d}  train {running:.2f}   held-out: reconstruction {r:.2f}  kl {k:.2f}  sum {r + k:.2f}")
