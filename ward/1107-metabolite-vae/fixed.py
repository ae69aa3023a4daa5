"""Beta-VAE for a small metabolite panel: 5-d latent space for plotting."""
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

CFG = dict(latent=5, hidden=64, beta=0.2, lr=1e-3, batch=32, epochs=25, seed=14)


class VAE(nn.Module):
    def __init__(self, n_in, hidden, latent):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU())
        self.mu, self.logvar = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.dec = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, n_in))

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + std * torch.randn_like(std)

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        return self.dec(self.reparameterize(mu, logvar)), mu, logvar


def elbo(recon, x, mu, logvar, beta):
    rec = F.mse_loss(recon, x, reduction="sum") / len(x)
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / len(x)
    return rec + beta * kld, rec, kld


def main():
    torch.manual_seed(CFG["seed"])
    panel = load_breast_cancer().data
    idx = torch.randperm(len(panel)).numpy()
    scaler = StandardScaler().fit(panel[idx[:450]])
    panel = torch.tensor(scaler.transform(panel), dtype=torch.float32)
    train = DataLoader(TensorDataset(panel[idx[:450]]), batch_size=CFG["batch"], shuffle=True)
    held_out = panel[idx[450:]]

    vae = VAE(panel.shape[1], CFG["hidden"], CFG["latent"])
    opt = torch.optim.Adam(vae.parameters(), lr=CFG["lr"])
    for epoch in range(CFG["epochs"]):
        vae.train()
        sums = torch.zeros(3)
        for (x,) in train:
            loss, rec, kld = elbo(x=x, beta=CFG["beta"], **dict(zip(("recon", "mu", "logvar"), vae(x))))
            opt.zero_grad()
            loss.backward()
            opt.step()
            sums += torch.stack([loss, rec, kld]).detach()
        vae.eval()
        with torch.no_grad():
            out, mu, logvar = vae(held_out)
            corr = F.cosine_similarity(out, held_out, dim=1).mean().item()
            rmse = (vae.dec(mu) - held_out).pow(2).mean().sqrt().item()
        if epoch % 4 == 0:
            l, r, k = (sums / len(train)).tolist()
            print(f"ep {epoch:3d} loss {l:9.3f} rec {r:9.3f} kld {k:7.3f} | held-out rmse {rmse:.3f} cos {corr:.3f}")


if __name__ == "__main__":
    main()
