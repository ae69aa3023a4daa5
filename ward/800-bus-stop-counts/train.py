"""Passengers boarding per stop and quarter of an hour, as a Poisson count."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)


def stops(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 6, generator=g)
    rate = torch.exp(0.6 + 0.5 * x[:, 0] - 0.4 * x[:, 1] + 0.3 * torch.tanh(2 * x[:, 3]))
    rate = rate.clamp(max=20)
    return x, torch.poisson(rate, generator=g)


class CountNet(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh())
        self.rate = nn.Linear(48, 1)

    def forward(self, x):
        return torch.relu(self.rate(self.body(x))).squeeze(1)


class PoissonLoss(nn.Module):
    def forward(self, rate, count):
        return (rate - count * torch.log(rate)).mean()


train = DataLoader(TensorDataset(*stops(2400, 1)), batch_size=64, shuffle=True)
xv, yv = stops(600, 2)
net = CountNet(6)
criterion = PoissonLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=6e-3)

for epoch in range(7):
    net.train()
    total = 0.0
    for x, y in train:
        loss = criterion(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / len(train)
    net.eval()
    with torch.no_grad():
        out = net(xv)
        print(f"epoch {epoch} train {total:.4f} val {criterion(out, yv).item():.4f} mean abs error {(out - yv).abs().mean().item():.3f}")
