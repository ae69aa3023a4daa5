"""Delivery-time quantiles (10 / 50 / 90 %) for a courier service."""
import numpy as np
import torch
from torch import nn

QUANTILES = torch.tensor([0.1, 0.5, 0.9])


def orders(n, rng):
    km = rng.gamma(2.0, 2.0, n)
    hour = rng.uniform(8, 22, n)
    rain = rng.random(n) < 0.2
    zone = rng.integers(0, 4, n)
    items = rng.poisson(3, n)
    jam = np.exp(-0.5 * ((hour - 12.5) / 1.0) ** 2) + 1.3 * np.exp(-0.5 * ((hour - 18.5) / 1.2) ** 2)
    minutes = 8 + 2.2 * km * (1 + 1.6 * jam * (zone < 2)) + 6 * rain * jam + 0.8 * items + rng.gamma(2, 1 + jam, n)
    x = np.column_stack([km / 4 - 1, (hour - 15) / 4, rain * 2.0 - 0.4, items / 2 - 1.5, np.eye(4)[zone]])
    return torch.tensor(x, dtype=torch.float32), torch.tensor(minutes, dtype=torch.float32)


def pinball(pred, y):
    err = y.unsqueeze(1) - pred
    return torch.maximum(QUANTILES * err, (QUANTILES - 1) * err).mean()


class QuantileNet(nn.Module):
    def __init__(self, d_in=8, d=64, depth=3, p=0.05):
        super().__init__()
        self.inp = nn.Linear(d_in, d)
        self.hidden = nn.ModuleList(nn.Linear(d, d) for _ in range(depth))
        self.drop = nn.Dropout(p)
        self.out = nn.Linear(d, 3)

    def forward(self, x):
        x = self.drop(self.inp(x))
        for layer in self.hidden:
            x = self.drop(layer(x))
        return self.out(x)


def train(epochs=24):
    rng = np.random.default_rng(10)
    torch.manual_seed(10)
    x, y = orders(5000, rng)
    xv, yv = orders(1500, rng)
    mean, std = y.mean(), y.std()
    y, yv = (y - mean) / std, (yv - mean) / std
    net = QuantileNet()
    opt = torch.optim.NAdam(net.parameters(), lr=4e-3)
    history = []
    sched = torch.optim.lr_scheduler.PolynomialLR(opt, epochs)
    for epoch in range(epochs):
        net.train()
        batch_losses = []
        for rows in np.array_split(rng.permutation(len(y)), 50):
            opt.zero_grad()
            loss = pinball(net(x[rows]), y[rows])
            loss.backward()
            opt.step()
            batch_losses.append(loss.item())
        sched.step()
        net.eval()
        with torch.no_grad():
            q = net(xv)
            cover = ((yv >= q[:, 0]) & (yv <= q[:, 2])).float().mean().item()
            width = (q[:, 2] - q[:, 0]).mean().item() * std.item()
            mae = (q[:, 1] - yv).abs().mean().item() * std.item()
            history.append((np.mean(batch_losses), pinball(q, yv).item(), mae, cover, width))
    return history


for k, row in enumerate(train()):
    if k % 2 == 1:
        print("epoch %2d  pinball %.4f  val %.4f  MAE %.2f min  coverage %.3f  width %.1f min" % (k + 1, *row))
