"""Self-supervised embedding of colour patches: invariance plus spread of the features."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Patches(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.kind = torch.randint(0, 6, (n,), generator=g)
        centre = torch.randn(6, 12, generator=g)
        self.x = centre[self.kind] + 0.4 * torch.randn(n, 12, generator=g)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        a = self.x[i] + 0.2 * torch.randn(12)
        b = self.x[i] + 0.2 * torch.randn(12)
        return a, b


class Encoder(nn.Module):
    def __init__(self, out=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(12, 48), nn.GELU(), nn.Linear(48, out))

    def forward(self, x):
        return self.net(x)


def spread(z):
    return F.relu(1 - z.std(dim=0)).mean()


def covariance(z):
    z = z - z.mean(0)
    c = (z.T @ z) / len(z)
    return (c - torch.diag(torch.diag(c))).pow(2).sum() / z.shape[1]


def main():
    torch.manual_seed(1)
    data = Patches(1601, seed=2)
    loader = DataLoader(data, batch_size=32, shuffle=True, drop_last=True)
    enc = Encoder()
    opt = torch.optim.Adam(enc.parameters(), lr=2e-3)
    for epoch in range(5):
        total = 0.0
        for a, b in loader:
            za, zb = enc(a), enc(b)
            loss = 5 * F.mse_loss(za, zb) + 5 * (spread(za) + spread(zb)) + 0.2 * (covariance(za) + covariance(zb))
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        with torch.no_grad():
            z = enc(data.x)
            far = torch.cdist(z, z) + 1e9 * torch.eye(len(z))
            same = (data.kind[far.argmin(1)] == data.kind).float().mean().item()
        print(f"epoch {epoch + 1} loss {total / len(loader):.4f} nearest neighbour of the same kind {same:.3f}")


if __name__ == "__main__":
    main()
