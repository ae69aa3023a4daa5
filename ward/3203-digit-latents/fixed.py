import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.distributions import Normal, kl_divergence

torch.manual_seed(42)


class VAE(nn.Module):
    def __init__(self, latent=6, hidden=128):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, hidden), nn.ReLU())
        self.to_mu = nn.Linear(hidden, latent)
        self.to_logvar = nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, 64))

    def encode(self, x):
        h = self.encoder(x)
        return Normal(self.to_mu(h), torch.exp(0.5 * self.to_logvar(h)))

    def forward(self, x):
        q = self.encode(x)
        z = q.rsample()
        return self.decoder(z), q


def elbo_terms(logits, q, x):
    rec = nn.functional.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1).mean()
    kl = kl_divergence(q, Normal(0.0, 1.0)).sum(1).mean()
    return rec, kl


digits = torch.tensor(load_digits().data, dtype=torch.float32) / 16
digits = digits[torch.randperm(len(digits), generator=torch.Generator().manual_seed(0))]
x_train, x_val = digits[:1500], digits[1500:]

vae = VAE()
optim = torch.optim.Adam(vae.parameters(), lr=2e-3)
lr_sched = torch.optim.lr_scheduler.CosineAnnealingLR(optim, 120)
print("parameters:", sum(p.numel() for p in vae.parameters()))

for epoch in range(1, 121):
    vae.train()
    sums = torch.zeros(2)
    for batch in x_train[torch.randperm(len(x_train))].split(50):
        rec, kl = elbo_terms(*vae(batch), batch)
        optim.zero_grad()
        (rec + kl).backward()
        optim.step()
        sums += torch.tensor([rec.item(), kl.item()]) * len(batch)
    lr_sched.step()
    if epoch % 10 == 0:
        vae.eval()
        with torch.no_grad():
            vrec, vkl = elbo_terms(*vae(x_val), x_val)
        rec, kl = (sums / len(x_train)).tolist()
        print(f"{epoch:3d}: -elbo {rec + kl:.2f} (rec {rec:.2f}, kl {kl:.2f})   val -elbo {vrec + vkl:.2f} (rec {vrec:.2f}, kl {vkl:.2f})")
