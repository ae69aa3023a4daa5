import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

hp = {"epochs": 40, "batch": 30, "lr": 3e-3, "latent": 8, "hidden": 96, "kl_warmup_epochs": 16, "seed": 15}
SIGMA = 0.2  # pixel noise of the decoder


class VAE(nn.Module):
    def __init__(self, latent, hidden):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.mu, self.logvar = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.dec = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 64))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


def elbo_terms(model, x):
    out, mu, logvar = model(x)
    recon = ((out.sigmoid() - x) / SIGMA).pow(2).sum(1).mean() / 2
    kl = 0.5 * (mu.pow(2) + logvar.exp() - 1 - logvar).sum(1).mean()
    return recon, kl


def main():
    torch.manual_seed(hp["seed"])
    x = torch.tensor(load_digits().data, dtype=torch.float32) / 16
    x = x[torch.randperm(len(x))]
    loader = DataLoader(TensorDataset(x[:1500]), batch_size=hp["batch"], shuffle=True)
    val = x[1500:]
    model = VAE(hp["latent"], hp["hidden"])
    optimizer = torch.optim.Adam(model.parameters(), lr=hp["lr"])
    for epoch in range(hp["epochs"]):
        beta = min(1.0, epoch / hp["kl_warmup_epochs"])
        model.train()
        sums = torch.zeros(3)
        for (batch,) in loader:
            recon, kl = elbo_terms(model, batch)
            loss = recon + beta * kl
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            sums += torch.tensor([loss.item(), recon.item(), kl.item()]) / len(loader)
        model.eval()
        with torch.no_grad():
            r, k = elbo_terms(model, val)
        if epoch % 4 == 3:
            print(f"epoch {epoch + 1:2d} beta {beta:.2f} loss {sums[0]:.3f} recon {sums[1]:.3f} kl {sums[2]:.3f} | val -elbo {(r + k).item():.3f} rmse {(2 * r.item() / 64) ** 0.5 * SIGMA:.3f}")


if __name__ == "__main__":
    main()
