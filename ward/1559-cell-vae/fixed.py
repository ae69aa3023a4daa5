import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler


class TabularVAE(nn.Module):
    def __init__(self, n_in=30, hidden=64, latent=6):
        super().__init__()
        self.fc1 = nn.Linear(n_in, hidden)
        self.fc_mu = nn.Linear(hidden, latent)
        self.fc_logvar = nn.Linear(hidden, latent)
        self.fc3 = nn.Linear(latent, hidden)
        self.fc4 = nn.Linear(hidden, n_in)

    def encode(self, x):
        h = F.relu(self.fc1(x))
        return self.fc_mu(h), self.fc_logvar(h)

    def reparameterize(self, mu, logvar):
        return mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)

    def decode(self, z):
        h = F.relu(self.fc3(z))
        return self.fc4(h)

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(recon, x, mu, logvar, beta=0.2):
    mse = F.mse_loss(recon, x, reduction="sum") / len(x)
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / len(x)
    return mse + beta * kld, mse, kld


def main():
    torch.manual_seed(0)
    raw = load_breast_cancer().data
    scaler = StandardScaler().fit(raw[:450])
    data = torch.tensor(scaler.transform(raw), dtype=torch.float32).clamp(-4, 4)
    train = DataLoader(TensorDataset(data[:450]), batch_size=30, shuffle=True)
    test = data[450:]
    model = TabularVAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(1, 61):
        model.train()
        sums = [0.0, 0.0, 0.0]
        for (x,) in train:
            optimizer.zero_grad()
            recon, mu, logvar = model(x)
            parts = loss_function(recon, x, mu, logvar)
            parts[0].backward()
            optimizer.step()
            sums = [s + p.item() for s, p in zip(sums, parts)]
        model.eval()
        with torch.no_grad():
            mu, _ = model.encode(test)
            test_mse = F.mse_loss(model.decode(mu), test).item()
        if epoch % 6 == 0:
            loss, mse, kld = (s / len(train) for s in sums)
            print(f"epoch {epoch:2d} loss {loss:.3f} (mse {mse:.3f} kl {kld:.3f}) test mse per feature {test_mse:.4f}")


if __name__ == "__main__":
    main()
