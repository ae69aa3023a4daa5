import torch
from torch import nn
from torch.nn import functional as F
from sklearn.datasets import load_digits

torch.manual_seed(0)
X = torch.tensor(load_digits().data, dtype=torch.float32) / 16
X = X[torch.randperm(len(X))]
train_x, val_x = X[:1437], X[1437:]


class VAE(nn.Module):
    def __init__(self, latent=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, 96), nn.ReLU())
        self.mu = nn.Linear(96, latent)
        self.logvar = nn.Linear(96, latent)
        self.dec = nn.Sequential(nn.Linear(latent, 96), nn.ReLU(), nn.Linear(96, 64))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp() if self.training else mu
        return self.dec(z), mu, logvar


def elbo(x, logits, mu, logvar):
    rec = F.binary_cross_entropy_with_logits(logits, x, reduction="sum") / len(x)
    kl = -0.5 * (1 + logvar - mu ** 2 - logvar.exp()).sum() / len(x)
    return rec, kl


vae = VAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=3e-3)
for epoch in range(1, 21):
    vae.train()
    r = k = 0.0
    for b in train_x[torch.randperm(len(train_x))].split(64):
        rec, kl = elbo(b, *vae(b))
        loss = rec + kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        r += rec.item() * len(b) / len(train_x)
        k += kl.item() * len(b) / len(train_x)
    vae.eval()
    with torch.no_grad():
        vr, vk = elbo(val_x, *vae(val_x))
    if epoch % 2 == 0:
        print(f"epoch {epoch:2d}  rec {r:.3f}  kl {k:.3f}  total {r + k:.3f}  val rec {vr:.3f} kl {vk:.3f}")
